variable "name" {
  description = "Name of the cluster."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "kafka_version" {
  description = "Version of the brokers."
  type        = string

  validation {
    condition     = contains(["3.8.x", "3.9.x.kraft"], var.kafka_version)
    error_message = "kafka_version is ${var.kafka_version}; write 3.8.x or 3.9.x.kraft: Express brokers take no other."
  }
}

variable "instance_type" {
  description = "Express brokers (storage without bounds, three copies by themselves), or ones with disks."
  type        = string

  validation {
    condition     = can(regex("^(express\\.m7g\\.(large|[24]xlarge|(8|12|16)xlarge)|kafka\\.m7g\\.(large|(|2|4|8|12|16)xlarge))$", var.instance_type))
    error_message = "instance_type is ${var.instance_type}; write express.m7g.<large, 2xlarge, 4xlarge, 8xlarge, 12xlarge, 16xlarge> or kafka.m7g.<large, xlarge, 2xlarge, 4xlarge, 8xlarge, 12xlarge, 16xlarge>."
  }
}

variable "brokers" {
  description = "How many brokers, the same number in each of three zones."
  type        = number
  default     = 3

  validation {
    condition     = var.brokers >= 3 && var.brokers <= 60 && var.brokers % 3 == 0
    error_message = "brokers is ${var.brokers}; write 3, 6, 9 and so on, up to 60."
  }
}

variable "storage_gb" {
  description = "Disk of each broker in GB; null with Express brokers, which have none."
  type        = number
  default     = null

  validation {
    condition     = startswith(var.instance_type, "express.") == (var.storage_gb == null)
    error_message = "storage_gb is ${coalesce(var.storage_gb, 0)} with ${var.instance_type}; Express brokers take none, all others need it."
  }

  validation {
    condition     = coalesce(var.storage_gb, 1) >= 1 && coalesce(var.storage_gb, 1) <= 16384
    error_message = "storage_gb is ${coalesce(var.storage_gb, 0)}; write 1 to 16384."
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
  description = "Addresses of the network, from which jobs and Airflow connect."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.network_cidr)) && try(tonumber(split("/", var.network_cidr)[1]), 0) >= 16
    error_message = "network_cidr is ${var.network_cidr}; write the network's range, such as '10.40.0.0/16'."
  }
}

variable "subnet_ids" {
  description = "One subnet in each of three zones."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) == 3 && length(distinct(var.subnet_ids)) == 3
    error_message = "subnet_ids has ${length(var.subnet_ids)} entries; write three different ones, a subnet in each zone."
  }
}

variable "site_cidrs" {
  description = "Addresses of sites, by Direct Connect, VPN or peering."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for cidr in var.site_cidrs : can(cidrnetmask(cidr)) && try(tonumber(split("/", cidr)[1]), 0) >= 8])
    error_message = "site_cidrs are [${join(", ", var.site_cidrs)}]; write IPv4 ranges of /8 or smaller, such as '10.90.0.0/16': 0.0.0.0/0 would be everybody."
  }
}

variable "users" {
  description = "SCRAM users of the platform, each with the version of its password."
  type        = map(number)

  validation {
    condition     = alltrue([for user, version in var.users : can(regex("^[a-z][a-z0-9-]{0,47}$", user)) && version >= 1]) && contains(keys(var.users), "ingest")
    error_message = "users are [${join(", ", keys(var.users))}]; write names of a-z, 0-9 and '-' with versions from 1 on, 'ingest' among them: jobs log in as it."
  }
}

variable "passwords" {
  description = "A password for each of the users, by ephemeral values."
  type        = map(string)
  ephemeral   = true
  sensitive   = true

  validation {
    condition     = length(setsubtract(keys(var.users), keys(var.passwords))) == 0
    error_message = "passwords lack some of the users [${join(", ", keys(var.users))}]; write one for each."
  }
}

variable "log_key_arn" {
  description = "KMS key of the brokers' logs."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.log_key_arn))
    error_message = "log_key_arn is ${var.log_key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "log_days" {
  description = "How long the brokers' logs are kept."
  type        = number
  default     = 365

  validation {
    condition     = contains([7, 14, 30, 60, 90, 180, 365, 400, 731], var.log_days)
    error_message = "log_days is ${var.log_days}; write 7, 14, 30, 60, 90, 180, 365, 400 or 731."
  }
}

variable "recovery_window_days" {
  description = "How long a deleted user's secret can be brought back; 0 deletes at once."
  type        = number
  default     = 30

  validation {
    condition     = var.recovery_window_days == 0 || (var.recovery_window_days >= 7 && var.recovery_window_days <= 30)
    error_message = "recovery_window_days is ${var.recovery_window_days}; write 0, or 7 to 30."
  }
}
