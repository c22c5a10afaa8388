variable "name" {
  description = "First part of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "environment" {
  description = "Value of the tag 'environment', by which costs are counted."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.environment))
    error_message = "environment is ${var.environment}; write a word such as 'dev' or 'prod'."
  }
}

variable "pipelines" {
  description = "By pipeline: how long its oldest message may wait, and how old its last batch may be."
  type        = map(object({ max_lag_s = number, stale_after_s = number }))

  validation {
    condition     = alltrue([for limits in values(var.pipelines) : limits.max_lag_s > 0 && limits.stale_after_s > 0])
    error_message = "a pipeline's max_lag_s or stale_after_s is 0 or less; write seconds."
  }
}

variable "application_id" {
  description = "The Spark application."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9-]+$", var.application_id))
    error_message = "application_id is ${var.application_id}; write the application's id, such as '00fabc123def'."
  }
}

variable "airflow_name" {
  description = "The Airflow environment."
  type        = string

  validation {
    condition     = can(regex("^[a-zA-Z][a-zA-Z0-9_-]{0,79}$", var.airflow_name))
    error_message = "airflow_name is ${var.airflow_name}; write the environment's name, such as 'millrace-dev'."
  }
}

variable "cluster_name" {
  description = "The brokers."
  type        = string

  validation {
    condition     = can(regex("^[a-zA-Z][a-zA-Z0-9-]{0,63}$", var.cluster_name))
    error_message = "cluster_name is ${var.cluster_name}; write the cluster's name, such as 'millrace-dev'."
  }
}

variable "key_arn" {
  description = "KMS key of the topic; CloudWatch and Budgets have to be allowed to use it."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.key_arn))
    error_message = "key_arn is ${var.key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "mail" {
  description = "Who is told of alarms; each address has to confirm once."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.mail : can(regex("^[^@ ]+@[^@ ]+\\.[^@ ]+$", address))])
    error_message = "mail is [${join(", ", var.mail)}]; write addresses such as 'operators@acme.example'."
  }
}

variable "budget_usd" {
  description = "What a month may cost; told at 80 % of it, and when it is foreseen to be passed."
  type        = number

  validation {
    condition     = var.budget_usd >= 1
    error_message = "budget_usd is ${var.budget_usd}; write 1 or more."
  }
}
