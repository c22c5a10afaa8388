variable "name" {
  description = "First part of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "bucket" {
  description = "Name of the bucket with tables (lake/), checkpoints (checkpoints/) and jobs (jobs/)."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket is ${var.bucket}; write 3 to 63 of a-z, 0-9 and '-', with no '-' at either end."
  }
}

variable "rules" {
  description = "By prefix: after how many days current objects are deleted, or moved where what is seldom read costs less."
  type = map(object({
    expire_days = optional(number)
    cold_days   = optional(number)
  }))
  default = { "logs/" = { expire_days = 30 }, "lake/" = { cold_days = 30 } }

  validation {
    condition     = alltrue([for prefix, rule in var.rules : rule.expire_days == null || startswith(prefix, "logs/")])
    error_message = "rules delete by age in [${join(", ", [for prefix, rule in var.rules : prefix if rule.expire_days != null])}]; write logs/: a table's files are deleted by its maintenance (keep: in the pipeline's file), since its log still names them, and a job may run for longer than any age."
  }
}

variable "keep_deleted_days" {
  description = "How long what was overwritten or deleted can be brought back."
  type        = number
  default     = 14

  validation {
    condition     = var.keep_deleted_days >= 1 && var.keep_deleted_days <= 365
    error_message = "keep_deleted_days is ${var.keep_deleted_days}; write 1 to 365."
  }
}

variable "reader_account_ids" {
  description = "Other accounts that may read the silver tables."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.reader_account_ids : can(regex("^[0-9]{12}$", id))])
    error_message = "reader_account_ids are ${join(", ", var.reader_account_ids)}; write account numbers of 12 digits, such as '123456789012'; '*' would make the lake public."
  }
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the lake with all its tables."
  type        = bool
  default     = false
}
