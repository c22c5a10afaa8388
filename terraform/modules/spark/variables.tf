variable "name" {
  description = "Name of the application."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.name))
    error_message = "name is ${var.name}; write 3 to 24 of a-z, 0-9 and '-', a letter first, such as 'millrace-dev'."
  }
}

variable "release_label" {
  description = "EMR release with the Spark that jobs are written for, 4.1."
  type        = string
  default     = "emr-spark-8.1.0"

  validation {
    condition     = can(regex("^emr-spark-8\\.[1-9][0-9]*\\.[0-9]+$", var.release_label))
    error_message = "release_label is ${var.release_label}; write emr-spark-8.1.0 or a newer 8: Delta's jar fits Spark 4.1 alone."
  }
}

variable "image_tag" {
  description = "Tag of our image in the repository; null until one was pushed."
  type        = string
  default     = null

  validation {
    condition     = var.image_tag == null || (can(regex("^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$", coalesce(var.image_tag, "-"))) && var.image_tag != "latest")
    error_message = "image_tag is ${coalesce(var.image_tag, "empty")}; write the tag of one build, such as '0.1.0-3fa2c1b'; 'latest' says nothing."
  }
}

variable "maximum" {
  description = "What all jobs together may use at once; more waits."
  type = object({
    cpu       = number
    memory_gb = number
    disk_gb   = number
  })

  validation {
    condition     = var.maximum.cpu >= 4 && var.maximum.memory_gb >= 2 * var.maximum.cpu && var.maximum.memory_gb <= 8 * var.maximum.cpu && var.maximum.disk_gb >= 20
    error_message = "maximum is ${var.maximum.cpu} vCPU, ${var.maximum.memory_gb} GB, disk ${var.maximum.disk_gb} GB; write 4 vCPU or more, 2 to 8 GB for each of them, and 20 GB of disk or more."
  }
}

variable "idle_minutes" {
  description = "After how long without a job the application stops."
  type        = number
  default     = 15

  validation {
    condition     = var.idle_minutes >= 1 && var.idle_minutes <= 10080
    error_message = "idle_minutes is ${var.idle_minutes}; write 1 to 10080."
  }
}

variable "kept_images" {
  description = "How many images stay."
  type        = number
  default     = 20

  validation {
    condition     = var.kept_images >= 2 && var.kept_images <= 1000
    error_message = "kept_images is ${var.kept_images}; write 2 to 1000: the one that runs, and the one before."
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
  description = "Subnets of the workers, one in each zone."
  type        = list(string)

  validation {
    condition     = length(distinct(var.subnet_ids)) == 3
    error_message = "subnet_ids has ${length(distinct(var.subnet_ids))} different entries; write three, a subnet in each zone."
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
  description = "KMS key of images."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key/", var.key_arn))
    error_message = "key_arn is ${var.key_arn}; write a key's ARN, such as 'arn:aws:kms:eu-central-1:123456789012:key/...'."
  }
}

variable "force_destroy" {
  description = "Whether terraform destroy deletes the repository with its images."
  type        = bool
  default     = false
}
