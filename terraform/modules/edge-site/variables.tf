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

  validation {
    condition     = length(var.password) >= 24
    error_message = "password is shorter than 24 characters; take one from the ephemeral resource aws_secretsmanager_random_password."
  }
}

variable "password_version" {
  description = "Raised by one, it makes the next apply write a new password."
  type        = number
  default     = 1

  validation {
    condition     = var.password_version >= 1 && floor(var.password_version) == var.password_version
    error_message = "password_version is ${var.password_version}; write 1, 2, 3 and so on."
  }
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

  validation {
    condition     = can(regex("^[a-zA-Z][a-zA-Z0-9-]{0,63}$", var.cluster_name))
    error_message = "cluster_name is ${var.cluster_name}; write the cluster's name, such as 'millrace-dev'."
  }
}

variable "bootstrap" {
  description = "The brokers, as a client is told."
  type        = string

  validation {
    condition     = alltrue([for broker in split(",", var.bootstrap) : can(regex("^[a-zA-Z0-9.-]+:[0-9]+$", broker))])
    error_message = "bootstrap is ${var.bootstrap}; write host:port, with commas between several."
  }
}

variable "key_arn" {
  description = "KMS key of the secret."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.key_arn))
    error_message = "key_arn is ${var.key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "recovery_window_days" {
  description = "How long the deleted secret can be brought back; 0 deletes at once."
  type        = number
  default     = 30

  validation {
    condition     = var.recovery_window_days == 0 || (var.recovery_window_days >= 7 && var.recovery_window_days <= 30)
    error_message = "recovery_window_days is ${var.recovery_window_days}; write 0, or 7 to 30."
  }
}
