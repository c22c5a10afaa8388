data "aws_caller_identity" "current" {}

resource "aws_kms_key" "this" {
  description             = var.description
  enable_key_rotation     = true
  deletion_window_in_days = var.deletion_window_days
  policy                  = jsonencode({ Version = "2012-10-17", Statement = local.statements })
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

locals {
  account = data.aws_caller_identity.current.account_id
  uses    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]

  # Who may use the key is then said by the policies of roles.
  by_account = {
    Sid       = "AccountDecides"
    Effect    = "Allow"
    Principal = { AWS = "arn:aws:iam::${local.account}:root" }
    Action    = "kms:*"
    Resource  = "*"
  }
  by_services = [for service in var.services : {
    Sid       = "Used${join("", [for part in split(".", service) : title(replace(part, "-", ""))])}"
    Effect    = "Allow"
    Principal = { Service = service }
    Action    = local.uses
    Resource  = "*"
    # CloudWatch Logs names no account, but the log group it works for.
    Condition = (startswith(service, "logs.")
      ? { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = "arn:aws:logs:*:${local.account}:log-group:*" } }
      : { StringEquals = { "aws:SourceAccount" = local.account } }
    )
  }]
  by_readers = [for account in var.reader_account_ids : {
    Sid       = "Read${account}"
    Effect    = "Allow"
    Principal = { AWS = "arn:aws:iam::${account}:root" }
    Action    = ["kms:Decrypt", "kms:DescribeKey"]
    Resource  = "*"
  }]
  # By way of JSON, because the conditions of services have unlike types.
  statements = concat([local.by_account], jsondecode(jsonencode(local.by_services)), local.by_readers)
}
