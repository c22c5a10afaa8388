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
}

variable "rules" {
  description = "By prefix: after how many days current objects are deleted, or moved where what is seldom read costs less."
  type = map(object({
    expire_days = optional(number)
    cold_days   = optional(number)
  }))
  default = { "jobs/" = { expire_days = 30 }, "lake/" = { cold_days = 30 } }

  validation {
    condition = alltrue([for prefix, rule in var.rules : rule.expire_days == null || anytrue([
      for free in ["jobs/", "logs/"] : startswith(prefix, free)
    ])])
    error_message = "rules delete by age in [${join(", ", [for prefix, rule in var.rules : prefix if rule.expire_days != null])}]; write jobs/ or logs/: a table's files are deleted by its maintenance (keep: in the pipeline's file), since its log still names them."
  }
}

variable "keep_deleted_days" {
  description = "How long what was overwritten or deleted can be brought back."
  type        = number
  default     = 14
}

variable "reader_account_ids" {
  description = "Other accounts that may read the silver tables."
  type        = list(string)
  default     = []
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the lake with all its tables."
  type        = bool
  default     = false
}
