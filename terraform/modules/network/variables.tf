variable "name" {
  description = "First part of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "cidr" {
  description = "Addresses of the network; each zone gets a sixteenth of them."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.cidr)) && contains(range(16, 21), try(tonumber(split("/", var.cidr)[1]), 0))
    error_message = "cidr is ${var.cidr}; write an IPv4 range of /16 to /20, such as '10.40.0.0/16'."
  }

  validation {
    condition     = can(regex("^(10\\.|192\\.168\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.)", var.cidr))
    error_message = "cidr is ${var.cidr}, which is not private; write a range in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16."
  }
}

variable "zones" {
  description = "Three availability zones of one region."
  type        = list(string)

  validation {
    condition     = length(var.zones) == 3 && length(distinct(var.zones)) == 3
    error_message = "zones are [${join(", ", var.zones)}]; write three different ones, such as eu-central-1a, eu-central-1b, eu-central-1c: brokers keep three copies."
  }

  validation {
    condition     = alltrue([for zone in var.zones : can(regex("^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$", zone))]) && length(distinct([for zone in var.zones : trimsuffix(zone, substr(zone, -1, 1))])) == 1
    error_message = "zones are [${join(", ", var.zones)}]; write zones of one region, such as eu-central-1a, eu-central-1b, eu-central-1c."
  }
}

variable "endpoints" {
  description = "AWS services reached from inside the network, beside S3.."
  type        = set(string)
  default = [
    "airflow.api", "airflow.env", "airflow.ops", "ecr.api", "ecr.dkr", "emr-serverless", "kms", "logs",
    "monitoring", "secretsmanager", "sqs", "sts", "glue", "kafka",
  ]

  validation {
    condition     = alltrue([for service in var.endpoints : can(regex("^[a-z0-9][a-z0-9.-]*$", service))])
    error_message = "endpoints are [${join(", ", var.endpoints)}]; write the last part of a service's name, such as 'ecr.dkr' of com.amazonaws.eu-central-1.ecr.dkr."
  }
}

variable "flow_log_days" {
  description = "How long it is kept who talked to whom."
  type        = number
  default     = 365

  validation {
    condition     = contains([7, 14, 30, 60, 90, 180, 365, 400, 731], var.flow_log_days)
    error_message = "flow_log_days is ${var.flow_log_days}; write 7, 14, 30, 60, 90, 180, 365, 400 or 731."
  }
}

variable "log_key_arn" {
  description = "KMS key of the flow log."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.log_key_arn))
    error_message = "log_key_arn is ${var.log_key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}
