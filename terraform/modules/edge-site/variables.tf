variable "site" {
  description = "Name of the site, as its file in dags/sites is called."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,47}$", var.site))
    error_message = "site is ${var.site}; write 1 to 48 of a-z, 0-9 and '-', a letter first, such as 'plant-a'."
  }
}

variable "topics" {
  description = "Topics that the site relays, without its name before them."
  type        = set(string)

  validation {
    condition     = length(var.topics) > 0 && alltrue([for topic in var.topics : can(regex("^[a-zA-Z0-9._-]{1,150}$", topic))])
    error_message = "topics are [${join(", ", var.topics)}]; write at least one, of a-z, A-Z, 0-9, '.', '_' and '-', such as 'temperature-data': a '*' would be everybody's."
  }
}

variable "quota_bytes_per_s" {
  description = "What the site may produce in a second."
  type        = number
  default     = 10485760

  validation {
    condition     = var.quota_bytes_per_s >= 1024
    error_message = "quota_bytes_per_s is ${var.quota_bytes_per_s}; write 1024 or more."
  }
}

variable "password" {
  description = "The site's password, by an ephemeral value."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "password_version" {
  description = "Raised by one, it makes the next apply write a new password."
  type        = number
  default     = 1
}

variable "cluster_arn" {
  description = "The MSK cluster."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kafka:[a-z0-9-]+:[0-9]{12}:cluster/", var.cluster_arn))
    error_message = "cluster_arn is ${var.cluster_arn}; write a cluster's ARN, such as 'arn:aws:kafka:eu-central-1:123456789012:cluster/millrace-dev/...'."
  }
}

variable "cluster_name" {
  description = "The cluster's name."
  type        = string
}

variable "bootstrap" {
  description = "The brokers, as a client is told."
  type        = string
}

variable "key_arn" {
  description = "KMS key of the secret."
  type        = string
}

variable "recovery_window_days" {
  description = "How long the deleted secret can be brought back; 0 deletes at once."
  type        = number
  default     = 30
}
