variable "name" {
  description = "First part of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "bucket" {
  description = "The bucket of the tables."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket is ${var.bucket}; write 3 to 63 of a-z, 0-9 and '-', with no '-' at either end."
  }
}

variable "tables" {
  description = "By layer and table: its columns, without those it is partitioned by."
  type        = map(map(list(object({ name = string, type = string }))))

  validation {
    condition     = length(setsubtract(keys(var.tables), ["bronze", "silver", "quarantine"])) == 0
    error_message = "tables has layers [${join(", ", keys(var.tables))}]; write bronze, silver and quarantine."
  }

  validation {
    condition     = alltrue(flatten([for tables in values(var.tables) : [for table in keys(tables) : can(regex("^[a-z][a-z0-9_]{0,47}$", table))]]))
    error_message = "tables are [${join(", ", flatten([for tables in values(var.tables) : keys(tables)]))}]; write 1 to 48 of a-z, 0-9 and '_', a letter first, such as 'temperature'."
  }

  validation {
    condition     = !contains(flatten([for tables in values(var.tables) : [for columns in values(tables) : columns[*].type]]), "variant")
    error_message = "a column's type is variant, which Glue lacks; leave the column out."
  }
}
