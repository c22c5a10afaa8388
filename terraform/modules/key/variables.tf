variable "name" {
  description = "What the key is called; its alias is alias/<name>."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,59}$", var.name))
    error_message = "name is ${var.name}; write 3 to 60 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev-lake'."
  }
}

variable "description" {
  description = "What is encrypted by the key."
  type        = string

  validation {
    condition     = length(var.description) > 0
    error_message = "description is empty; say what the key encrypts, such as 'Tables and checkpoints'."
  }
}

variable "services" {
  description = "AWS services that use the key by themselves, such as logs.eu-central-1.amazonaws.com."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for service in var.services : can(regex("^[a-z0-9.-]+\\.amazonaws\\.com$", service))])
    error_message = "services are ${join(", ", var.services)}; write host names of AWS services, such as 'cloudwatch.amazonaws.com'."
  }
}

variable "reader_account_ids" {
  description = "Other accounts whose roles may decrypt with the key."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.reader_account_ids : can(regex("^[0-9]{12}$", id))])
    error_message = "reader_account_ids are ${join(", ", var.reader_account_ids)}; write account numbers of 12 digits, such as '123456789012'; '*' would be everybody."
  }
}

variable "deletion_window_days" {
  description = "How long a deleted key can be brought back."
  type        = number
  default     = 30

  validation {
    condition     = var.deletion_window_days >= 7 && var.deletion_window_days <= 30
    error_message = "deletion_window_days is ${var.deletion_window_days}; write 7 to 30."
  }
}
