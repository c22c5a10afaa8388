variable "name" {
  description = "Name of the registry."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "schemas_dir" {
  description = "Folder with Avro schemas, <id>-<subject>.avsc each."
  type        = string

  validation {
    condition     = alltrue([for file in fileset(var.schemas_dir, "*") : can(regex("^[1-9][0-9]*-[a-zA-Z0-9._-]+\\.avsc$", file))]) && length(fileset(var.schemas_dir, "*")) > 0
    error_message = "schemas_dir is ${var.schemas_dir} with [${join(", ", fileset(var.schemas_dir, "*"))}]; name each file <id>-<subject>.avsc, such as 1-temperature-data.avsc."
  }
}

variable "compatibility" {
  description = "What a newer schema must keep."
  type        = string
  default     = "BACKWARD"

  validation {
    condition     = contains(["NONE", "BACKWARD", "BACKWARD_ALL", "FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL"], var.compatibility)
    error_message = "compatibility is ${var.compatibility}; write NONE, BACKWARD, BACKWARD_ALL, FORWARD, FORWARD_ALL, FULL or FULL_ALL."
  }
}
