# The central brokers. Every listener is TLS and asks who is there: a SCRAM user or a role.

locals {
  is_express = startswith(var.instance_type, "express.")

  # Express brokers keep three copies by themselves and let no one change that.
  durability = {
    "default.replication.factor"     = "3"
    "min.insync.replicas"            = "2"
    "unclean.leader.election.enable" = "false"
  }
  properties = merge(local.is_express ? {} : local.durability, {
    "allow.everyone.if.no.acl.found" = "false"
    "auto.create.topics.enable"      = "false"
    # A record's day in the lake is the broker's.
    "log.message.timestamp.type" = "LogAppendTime"
  })
}

module "key" {
  source = "../key"

  name        = "${var.name}-kafka"
  description = "The brokers' disks and their users' secrets"
}

resource "aws_msk_cluster" "this" {
  cluster_name           = var.name
  kafka_version          = var.kafka_version
  number_of_broker_nodes = var.brokers
  enhanced_monitoring    = "PER_TOPIC_PER_BROKER"

  broker_node_group_info {
    instance_type   = var.instance_type
    client_subnets  = var.subnet_ids
    security_groups = [aws_security_group.this.id]

    dynamic "storage_info" {
      for_each = local.is_express ? [] : [var.storage_gb]

      content {
        ebs_storage_info {
          volume_size = storage_info.value
        }
      }
    }
  }

  client_authentication {
    unauthenticated = false

    sasl {
      iam   = true
      scram = true
    }
  }

  encryption_info {
    encryption_at_rest_kms_key_arn = module.key.arn

    encryption_in_transit {
      client_broker = "TLS"
      in_cluster    = true
    }
  }

  configuration_info {
    arn      = aws_msk_configuration.this.arn
    revision = aws_msk_configuration.this.latest_revision
  }

  logging_info {
    broker_logs {
      cloudwatch_logs {
        enabled   = true
        log_group = aws_cloudwatch_log_group.this.name
      }
    }
  }
}

resource "aws_msk_configuration" "this" {
  name              = var.name
  kafka_versions    = [var.kafka_version]
  server_properties = join("\n", [for key, value in local.properties : "${key}=${value}"])

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/millrace/${var.name}/kafka"
  retention_in_days = var.log_days
  kms_key_id        = var.log_key_arn
}

module "user" {
  source   = "../scram-user"
  for_each = var.users

  user                 = each.key
  password             = var.passwords[each.key]
  password_version     = each.value
  cluster_arn          = aws_msk_cluster.this.arn
  cluster_name         = var.name
  key_arn              = module.key.arn
  recovery_window_days = var.recovery_window_days
}
