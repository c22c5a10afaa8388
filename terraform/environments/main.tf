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

  # 'make release' packs it, and says in plan.json what pipelines and sites there are.
  packed_dir = "${local.checkout}/var/release"
  plan       = jsondecode(file("${local.packed_dir}/plan.json"))

  # A deleted secret's name is free again at once where data may go.
  recovery_window_days = local.disposable ? 0 : 30
}

module "platform_key" {
  source = "../../modules/key"

  name        = "${local.name}-platform"
  description = "Logs, images, Airflow and alarms"
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

# Passwords are made when they are written, and kept nowhere but in their secrets.
ephemeral "aws_secretsmanager_random_password" "user" {
  for_each = toset(concat(keys(local.kafka.users), keys(local.plan.topics)))

  password_length     = 40
  exclude_punctuation = true
}

module "kafka" {
  source = "../../modules/kafka"

  name                 = local.name
  kafka_version        = local.kafka.version
  instance_type        = local.kafka.instance_type
  brokers              = local.kafka.brokers
  storage_gb           = local.kafka.storage_gb
  vpc_id               = module.network.vpc_id
  network_cidr         = module.network.cidr
  subnet_ids           = module.network.subnet_ids
  site_cidrs           = local.kafka.site_cidrs
  users                = local.kafka.users
  passwords            = { for user in keys(local.kafka.users) : user => ephemeral.aws_secretsmanager_random_password.user[user].random_password }
  log_key_arn          = module.platform_key.arn
  recovery_window_days = local.recovery_window_days
}

module "site" {
  source   = "../../modules/edge-site"
  for_each = { for site, topics in local.plan.topics : site => topics if length(topics) > 0 }

  site                 = each.key
  topics               = each.value
  password             = ephemeral.aws_secretsmanager_random_password.user[each.key].random_password
  password_version     = lookup(local.kafka.site_password_versions, each.key, 1)
  cluster_arn          = module.kafka.cluster_arn
  cluster_name         = module.kafka.cluster_name
  bootstrap            = module.kafka.bootstrap
  key_arn              = module.kafka.key_arn
  recovery_window_days = local.recovery_window_days
}

module "spark" {
  source = "../../modules/spark"

  name              = local.name
  image_tag         = local.spark.image_tag
  maximum           = local.spark.maximum
  vpc_id            = module.network.vpc_id
  network_cidr      = module.network.cidr
  subnet_ids        = module.network.subnet_ids
  s3_prefix_list_id = module.network.s3_prefix_list_id
  key_arn           = module.platform_key.arn
  force_destroy     = local.disposable
}

module "identity" {
  source = "../../modules/identity"

  name              = local.name
  bucket_arn        = module.lake.bucket_arn
  lake_key_arn      = module.lake.key_arn
  application_arn   = module.spark.application_arn
  cluster_arn       = module.kafka.cluster_arn
  ingest_secret_arn = module.kafka.secret_arns["ingest"]
  kafka_key_arn     = module.kafka.key_arn
}

locals {
  # What differs between environments, said once for all pipelines: infra/local.yaml.
  settings = {
    store = { kind = "s3", bucket = module.lake.bucket, region = local.region }
    emr_serverless = {
      application = module.spark.application_id
      role        = module.identity.job_role_arns["ingest"]
      roles       = module.identity.job_role_arns
      region      = local.region
      executors   = local.spark.executors
      cores       = local.spark.cores
    }
    central = {
      bootstrap = module.kafka.bootstrap
      admin     = module.kafka.bootstrap_iam
      secret    = module.kafka.secret_arns["ingest"]
    }
    metrics = { namespace = "Millrace", region = local.region }
    # No task has the machine to itself there, and MWAA has no other pool.
    task_pool = "default_pool"
  }
}

module "airflow" {
  source = "../../modules/airflow"

  name              = local.name
  size              = local.airflow.size
  max_workers       = local.airflow.max_workers
  bucket            = "${local.name}-airflow-${local.account}"
  release           = local.plan.release
  dags_dir          = "${local.checkout}/dags"
  packed_dir        = local.packed_dir
  settings          = yamlencode(local.settings)
  policy_arns       = { operator = module.identity.operator_policy_arn }
  vpc_id            = module.network.vpc_id
  network_cidr      = module.network.cidr
  subnet_ids        = module.network.subnet_ids
  s3_prefix_list_id = module.network.s3_prefix_list_id
  key_arn           = module.platform_key.arn
  force_destroy     = local.disposable
}

module "catalog" {
  source = "../../modules/catalog"

  name   = local.name
  bucket = module.lake.bucket
  tables = local.plan.tables
}

module "registry" {
  source = "../../modules/registry"

  name        = local.name
  schemas_dir = "${local.checkout}/schemas"
}

module "observability" {
  source = "../../modules/observability"

  name           = local.name
  environment    = local.environment
  pipelines      = local.plan.pipelines
  application_id = module.spark.application_id
  airflow_name   = module.airflow.name
  cluster_name   = module.kafka.cluster_name
  key_arn        = module.platform_key.arn
  mail           = local.alarms.mail
  budget_usd     = local.alarms.budget_usd
}
