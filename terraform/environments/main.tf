# How the modules fit together, alike in every environment; what differs is in its values.tf.

provider "aws" {
  region = local.region

  default_tags {
    tags = { project = "millrace", environment = local.environment }
  }
}

data "aws_caller_identity" "current" {}

locals {
  name     = "millrace-${local.environment}"
  account  = data.aws_caller_identity.current.account_id
  checkout = "${path.root}/../../.."

  # What operators edit says which sites, topics and tables there are.
  pipelines = { for file in fileset("${local.checkout}/dags/pipelines", "*.yaml") :
    trimsuffix(file, ".yaml") => yamldecode(file("${local.checkout}/dags/pipelines/${file}"))
  }
  sites = toset([for file in fileset("${local.checkout}/dags/sites", "*.yaml") : trimsuffix(file, ".yaml")])
}

module "platform_key" {
  source = "../../modules/key"

  name        = "${local.name}-platform"
  description = "Logs, images and alarms"
  services    = ["logs.${local.region}.amazonaws.com", "cloudwatch.amazonaws.com", "budgets.amazonaws.com"]
}

module "network" {
  source = "../../modules/network"

  name        = local.name
  cidr        = local.network.cidr
  zones       = local.network.zones
  log_key_arn = module.platform_key.arn
}

module "lake" {
  source = "../../modules/lake"

  name               = local.name
  bucket             = "${local.name}-lake-${local.account}"
  reader_account_ids = local.lake.reader_account_ids
  keep_deleted_days  = local.lake.keep_deleted_days
  force_destroy      = local.disposable
}
