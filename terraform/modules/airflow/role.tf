# What MWAA asks of every environment's role; what ours does beside it comes by policy_arns.

data "aws_caller_identity" "current" {}
data "aws_region" "current" {}

locals {
  account = data.aws_caller_identity.current.account_id
  region  = data.aws_region.current.name
}

resource "aws_iam_role" "this" {
  name        = "${var.name}-airflow"
  description = "Airflow's workers and scheduler"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = ["airflow-env.amazonaws.com", "airflow.amazonaws.com"] }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "given" {
  for_each = var.policy_arns

  role       = aws_iam_role.this.name
  policy_arn = each.value
}

resource "aws_iam_role_policy" "this" {
  name = "airflow"
  role = aws_iam_role.this.id
  policy = jsonencode({ Version = "2012-10-17", Statement = [
    { Sid = "Report", Effect = "Allow", Action = "airflow:PublishMetrics", Resource = "arn:aws:airflow:${local.region}:${local.account}:environment/${var.name}" },
    {
      Sid    = "ReadRelease"
      Effect = "Allow"
      Action = [
        "s3:GetBucketLocation", "s3:GetBucketPublicAccessBlock", "s3:GetBucketVersioning", "s3:GetEncryptionConfiguration",
        "s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:ListBucketVersions",
      ]
      Resource = [module.bucket.arn, "${module.bucket.arn}/*"]
    },
    {
      Sid    = "Log"
      Effect = "Allow"
      Action = [
        "logs:CreateLogGroup", "logs:CreateLogStream", "logs:GetLogEvents", "logs:GetLogGroupFields",
        "logs:GetLogRecord", "logs:GetQueryResults", "logs:PutLogEvents",
      ]
      Resource = "arn:aws:logs:${local.region}:${local.account}:log-group:airflow-${var.name}-*"
    },
    # These know no resource.
    { Sid = "Look", Effect = "Allow", Action = ["logs:DescribeLogGroups", "s3:GetAccountPublicAccessBlock"], Resource = "*" },
    { Sid = "Measure", Effect = "Allow", Action = "cloudwatch:PutMetricData", Resource = "*", Condition = { StringEquals = { "cloudwatch:namespace" = "AmazonMWAA" } } },
    # The queue between scheduler and workers is in an account of AWS's.
    {
      Sid    = "Queue"
      Effect = "Allow"
      Action = [
        "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage",
      ]
      Resource = "arn:aws:sqs:${local.region}:*:airflow-celery-*"
    },
    {
      Sid       = "Encrypt"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"]
      Resource  = var.key_arn
      Condition = { StringLike = { "kms:ViaService" = ["s3.${local.region}.amazonaws.com", "sqs.${local.region}.amazonaws.com"] } }
    },
  ] })
}
