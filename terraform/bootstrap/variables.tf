variable "name" {
  description = "First part of every name."
  type        = string
  default     = "millrace"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace'."
  }
}

variable "region" {
  description = "Where the state is kept."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is ${var.region}; write one such as 'eu-central-1'."
  }
}

variable "bucket" {
  description = "Name of the bucket, the only one of that name in the world."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket is ${var.bucket}; write 3 to 63 of a-z, 0-9 and '-', with no '-' at either end."
  }
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the bucket with every state in it."
  type        = bool
  default     = false
}
