variable "name" {
  description = "Name of the bucket, the only one of that name in the world."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.name))
    error_message = "name is ${var.name}; write 3 to 63 of a-z, 0-9 and '-', with no '-' at either end: TLS certificates do not fit a name with dots."
  }
}

variable "key_arn" {
  description = "KMS key that encrypts every object."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.key_arn))
    error_message = "key_arn is ${var.key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "rules" {
  description = "By prefix: after how many days current objects are deleted, or moved where what is seldom read costs less."
  type = map(object({
    expire_days = optional(number)
    cold_days   = optional(number)
  }))
  default = {}

  validation {
    condition     = alltrue([for prefix in keys(var.rules) : can(regex("^[a-z][a-z0-9/_-]*/$", prefix))])
    error_message = "rules are for [${join(", ", keys(var.rules))}]; write prefixes that end with '/', such as 'jobs/'."
  }

  validation {
    condition     = alltrue(flatten([for rule in values(var.rules) : [for days in [rule.expire_days, rule.cold_days] : coalesce(days, 1) >= 1]]))
    error_message = "a rule has 0 days or fewer; write 1 or more."
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
  description = "Other accounts that may read what lies under reader_prefix."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.reader_account_ids : can(regex("^[0-9]{12}$", id))])
    error_message = "reader_account_ids are ${join(", ", var.reader_account_ids)}; write account numbers of 12 digits, such as '123456789012'; '*' would make the bucket public."
  }
}

variable "reader_prefix" {
  description = "What other accounts may read."
  type        = string
  default     = "lake/silver/"

  validation {
    condition     = can(regex("^[a-z][a-z0-9/_-]*/$", var.reader_prefix))
    error_message = "reader_prefix is ${var.reader_prefix}; write a prefix that ends with '/', such as 'lake/silver/'."
  }
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the bucket with all that is in it."
  type        = bool
  default     = false
}
