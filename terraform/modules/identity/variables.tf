variable "name" {
  description = "First part of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "bucket_arn" {
  description = "The bucket of tables, checkpoints and jobs."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:s3:", var.bucket_arn))
    error_message = "bucket_arn is ${var.bucket_arn}; write an ARN such as 'arn:aws:s3:::millrace-dev-lake'."
  }
}

variable "lake_key_arn" {
  description = "KMS key of that bucket."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:", var.lake_key_arn))
    error_message = "lake_key_arn is ${var.lake_key_arn}; write an ARN such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "application_arn" {
  description = "The Spark application."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:emr-serverless:", var.application_arn))
    error_message = "application_arn is ${var.application_arn}; write an ARN such as 'arn:aws:emr-serverless:eu-central-1:123456789012:/applications/...'."
  }
}

variable "cluster_arn" {
  description = "The brokers."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kafka:", var.cluster_arn))
    error_message = "cluster_arn is ${var.cluster_arn}; write an ARN such as 'arn:aws:kafka:eu-central-1:123456789012:cluster/millrace-dev/...'."
  }
}

variable "ingest_secret_arn" {
  description = "The login of the brokers' user ingest."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:secretsmanager:", var.ingest_secret_arn))
    error_message = "ingest_secret_arn is ${var.ingest_secret_arn}; write an ARN such as 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:AmazonMSK_millrace-dev_ingest-...'."
  }
}

variable "kafka_key_arn" {
  description = "KMS key of that login."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:", var.kafka_key_arn))
    error_message = "kafka_key_arn is ${var.kafka_key_arn}; write an ARN such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}
