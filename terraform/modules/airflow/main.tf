# Managed Airflow (MWAA). What it runs lies under releases/<release>/ of its bucket.

module "bucket" {
  source = "../bucket"

  name          = var.bucket
  key_arn       = var.key_arn
  force_destroy = var.force_destroy
}

resource "aws_mwaa_environment" "this" {
  name              = var.name
  airflow_version   = var.airflow_version
  environment_class = var.size
  min_workers       = 1
  max_workers       = var.max_workers
  kms_key           = var.key_arn

  execution_role_arn    = aws_iam_role.this.arn
  webserver_access_mode = "PRIVATE_ONLY"

  source_bucket_arn              = module.bucket.arn
  dag_s3_path                    = "${local.release}/dags"
  plugins_s3_path                = aws_s3_object.plugins.key
  plugins_s3_object_version      = aws_s3_object.plugins.version_id
  requirements_s3_path           = aws_s3_object.requirements.key
  requirements_s3_object_version = aws_s3_object.requirements.version_id

  startup_script_s3_path           = aws_s3_object.startup.key
  startup_script_s3_object_version = aws_s3_object.startup.version_id

  airflow_configuration_options = {
    "core.load_examples" = "False"
  }

  network_configuration {
    subnet_ids         = slice(var.subnet_ids, 0, 2) # MWAA takes two, no more
    security_group_ids = [aws_security_group.this.id]
  }

  logging_configuration {
    dag_processing_logs {
      enabled   = true
      log_level = "WARNING"
    }

    scheduler_logs {
      enabled   = true
      log_level = "WARNING"
    }

    task_logs {
      enabled   = true
      log_level = "INFO"
    }

    webserver_logs {
      enabled   = true
      log_level = "WARNING"
    }

    worker_logs {
      enabled   = true
      log_level = "WARNING"
    }
  }

  depends_on = [aws_iam_role_policy.this, aws_s3_object.dag, aws_s3_object.home, aws_s3_object.settings]
}

resource "aws_security_group" "this" {
  name        = "${var.name}-airflow"
  description = "Airflow's parts"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-airflow" }
}

resource "aws_vpc_security_group_ingress_rule" "parts" {
  security_group_id            = aws_security_group.this.id
  description                  = "Airflow's parts among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_egress_rule" "parts" {
  security_group_id            = aws_security_group.this.id
  description                  = "Airflow's parts among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_egress_rule" "network" {
  for_each = { endpoints = 443, brokers = 9098 }

  security_group_id = aws_security_group.this.id
  description       = "The network's ${each.key}"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  cidr_ipv4         = var.network_cidr
}

resource "aws_vpc_security_group_egress_rule" "s3" {
  security_group_id = aws_security_group.this.id
  description       = "S3, by its endpoint"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  prefix_list_id    = var.s3_prefix_list_id
}
