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

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket is ${var.bucket}; write 3 to 63 of a-z, 0-9 and '-', with no '-' at either end."
  }
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

variable "settings" {
  description = "What stands in infra/local.yaml there, as YAML."
  type        = string

  validation {
    condition     = can(keys(yamldecode(var.settings)))
    error_message = "settings are not YAML with keys; write yamlencode({ store = ... })."
  }
}

variable "policy_arns" {
  description = "Policies that Airflow's role is given, by any name."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for arn in values(var.policy_arns) : can(regex("^arn:aws:iam::([0-9]{12}|aws):policy/", arn))])
    error_message = "policy_arns are [${join(", ", values(var.policy_arns))}]; write ARNs of policies, such as 'arn:aws:iam::123456789012:policy/...'."
  }
}

variable "vpc_id" {
  description = "The network."
  type        = string

  validation {
    condition     = can(regex("^vpc-[a-z0-9]+$", var.vpc_id))
    error_message = "vpc_id is ${var.vpc_id}; write a network's id, such as 'vpc-0a1b2c3d'."
  }
}

variable "network_cidr" {
  description = "Addresses of the network, where brokers and endpoints are."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.network_cidr)) && try(tonumber(split("/", var.network_cidr)[1]), 0) >= 16
    error_message = "network_cidr is ${var.network_cidr}; write the network's range, such as '10.40.0.0/16'."
  }
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

  validation {
    condition     = can(regex("^pl-[a-z0-9]+$", var.s3_prefix_list_id))
    error_message = "s3_prefix_list_id is ${var.s3_prefix_list_id}; write a prefix list's id, such as 'pl-6da54004'."
  }
}

variable "key_arn" {
  description = "KMS key of the bucket, the queue and the metadata; CloudWatch Logs has to be allowed to use it."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.key_arn))
    error_message = "key_arn is ${var.key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the bucket with all releases."
  type        = bool
  default     = false
}
