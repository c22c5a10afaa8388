# A role for each job and task, with what its code does and no more. `rights` is the table.

data "aws_caller_identity" "current" {}

locals {
  account = data.aws_caller_identity.current.account_id

  lake   = ["lake/bronze", "lake/silver", "lake/quarantine"]
  refine = ["lake/silver", "lake/quarantine"]
  says   = ["jobs", "logs"]
  logs   = [for table in local.lake : "${table}/*/_delta_log"]

  # `delete`: Delta clears away old entries of its log, a stream old entries of its checkpoint.
  rights = {
    ingest = {
      read   = concat(local.lake, ["checkpoints", "jobs"])
      write  = concat(local.lake, local.says, ["checkpoints"])
      delete = concat(local.logs, ["checkpoints"])
      kafka  = true
    }
    replay = {
      read   = concat(local.lake, ["checkpoints", "jobs"])
      write  = concat(local.lake, local.says)
      delete = local.logs
      kafka  = true
    }
    backfill = {
      read   = concat(local.lake, ["checkpoints", "jobs"])
      write  = concat(local.refine, local.says)
      delete = [for table in local.refine : "${table}/*/_delta_log"]
      kafka  = false
    }
    quality = {
      read   = ["lake/silver", "jobs"]
      write  = local.says
      delete = []
      kafka  = false
    }
    continuity = {
      read   = concat(local.lake, ["checkpoints", "jobs"])
      write  = local.says
      delete = []
      kafka  = true
    }
    maintain = {
      read   = concat(local.lake, ["jobs"])
      write  = concat(local.lake, local.says)
      delete = local.lake
      kafka  = false
    }
  }
}

resource "aws_iam_role" "job" {
  for_each = local.rights

  name        = "${var.name}-job-${each.key}"
  description = "What ${each.key}.py of spark_jobs may do"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "emr-serverless.amazonaws.com" }
      Action    = "sts:AssumeRole"
      # This application's jobs, not those of somebody else.
      Condition = { ArnLike = { "aws:SourceArn" = [var.application_arn, "${var.application_arn}/jobruns/*"] }, StringEquals = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_iam_role_policy" "job" {
  for_each = local.rights

  name = "job"
  role = aws_iam_role.job[each.key].id
  policy = jsonencode({ Version = "2012-10-17", Statement = concat(
    [
      {
        Sid       = "List"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = var.bucket_arn
        Condition = { StringLike = { "s3:prefix" = flatten([for prefix in each.value.read : [prefix, "${prefix}/*"]]) } }
      },
      { Sid = "Read", Effect = "Allow", Action = "s3:GetObject", Resource = [for prefix in each.value.read : "${var.bucket_arn}/${prefix}/*"] },
      { Sid = "Write", Effect = "Allow", Action = ["s3:AbortMultipartUpload", "s3:PutObject"], Resource = [for prefix in each.value.write : "${var.bucket_arn}/${prefix}/*"] },
      { Sid = "Encrypt", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.lake_key_arn },
      {
        Sid       = "Measure"
        Effect    = "Allow"
        Action    = "cloudwatch:PutMetricData"
        Resource  = "*"
        Condition = { StringEquals = { "cloudwatch:namespace" = "Millrace" } }
      },
    ],
    [for prefixes in [each.value.delete] :
      { Sid = "Delete", Effect = "Allow", Action = "s3:DeleteObject", Resource = [for prefix in prefixes : "${var.bucket_arn}/${prefix}/*"] }
      if length(prefixes) > 0
    ],
    [for statement in [
      { Sid = "ReadLogin", Effect = "Allow", Action = "secretsmanager:GetSecretValue", Resource = var.ingest_secret_arn },
      { Sid = "DecryptLogin", Effect = "Allow", Action = "kms:Decrypt", Resource = var.kafka_key_arn },
    ] : statement if each.value.kafka],
  ) })
}
