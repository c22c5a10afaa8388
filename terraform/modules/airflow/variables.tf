variable "name" {
  description = "Name of the environment."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "airflow_version" {
  description = "Version of Airflow."
  type        = string
  default     = "3.0.6"

  validation {
    condition     = contains(["3.0.6"], var.airflow_version)
    error_message = "airflow_version is ${var.airflow_version}; write 3.0.6: the newest that MWAA has, and our DAGs need 3."
  }
}

variable "size" {
  description = "Class of the environment."
  type        = string
  default     = "mw1.small"

  validation {
    condition     = contains(["mw1.small", "mw1.medium", "mw1.large", "mw1.xlarge", "mw1.2xlarge"], var.size)
    error_message = "size is ${var.size}; write mw1.small, mw1.medium, mw1.large, mw1.xlarge or mw1.2xlarge."
  }
}

variable "max_workers" {
  description = "How many workers at most."
  type        = number
  default     = 3

  validation {
    condition     = var.max_workers >= 1 && var.max_workers <= 25
    error_message = "max_workers is ${var.max_workers}; write 1 to 25."
  }
}

variable "bucket" {
  description = "Name of the bucket with releases."
  type        = string
}

variable "release" {
  description = "Version of what Airflow runs; its folder in the bucket."
  type        = string

  validation {
    condition     = can(regex("^[0-9]+\\.[0-9]+\\.[0-9]+([.-][a-z0-9]+)*$", var.release))
    error_message = "release is ${var.release}; write a version such as '0.1.0' or '0.1.0-3fa2c1b'."
  }
}

variable "dags_dir" {
  description = "Folder with DAGs, pipelines and sites."
  type        = string

  validation {
    condition     = length(fileset(var.dags_dir, "**/*.py")) > 0
    error_message = "dags_dir is ${var.dags_dir}, which holds no Python file; write the checkout's dags folder."
  }
}

variable "packed_dir" {
  description = "Folder with plugins.zip and requirements.txt, as 'make release' packs them."
  type        = string

  validation {
    condition     = alltrue([for file in ["plugins.zip", "requirements.txt"] : fileexists("${var.packed_dir}/${file}")])
    error_message = "packed_dir is ${var.packed_dir}, which lacks plugins.zip or requirements.txt; 'make release' packs them."
  }
}

variable "policy_arns" {
  description = "Policies that Airflow's role is given, by any name."
  type        = map(string)
  default     = {}
}

variable "vpc_id" {
  description = "The network."
  type        = string
}

variable "network_cidr" {
  description = "Addresses of the network, where brokers and endpoints are."
  type        = string
}

variable "subnet_ids" {
  description = "Private subnets; Airflow takes the first two."
  type        = list(string)

  validation {
    condition     = length(distinct(var.subnet_ids)) >= 2
    error_message = "subnet_ids has ${length(distinct(var.subnet_ids))} different entries; write two or more, in different zones."
  }
}

variable "s3_prefix_list_id" {
  description = "The addresses of S3."
  type        = string
}

variable "key_arn" {
  description = "KMS key of the bucket, the queue and the metadata; CloudWatch Logs has to be allowed to use it."
  type        = string
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the bucket with all releases."
  type        = bool
  default     = false
}
