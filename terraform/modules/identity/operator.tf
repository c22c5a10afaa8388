# What Airflow may do: start and stop jobs, make what they need, and look at what they wrote.

locals {
  seen = ["lake", "checkpoints", "jobs", "logs"]
}

resource "aws_iam_policy" "operator" {
  name        = "${var.name}-operator"
  description = "Deploys and watches jobs"
  policy = jsonencode({ Version = "2012-10-17", Statement = [
    {
      Sid      = "FindJobs"
      Effect   = "Allow"
      Action   = ["emr-serverless:GetApplication", "emr-serverless:ListJobRuns", "emr-serverless:StartJobRun"]
      Resource = var.application_arn
    },
    {
      Sid      = "RunJobs"
      Effect   = "Allow"
      Action   = ["emr-serverless:CancelJobRun", "emr-serverless:GetJobRun", "emr-serverless:TagResource"]
      Resource = "${var.application_arn}/jobruns/*"
    },
    {
      Sid       = "GiveRoles"
      Effect    = "Allow"
      Action    = "iam:PassRole"
      Resource  = [for role in aws_iam_role.job : role.arn]
      Condition = { StringEquals = { "iam:PassedToService" = "emr-serverless.amazonaws.com" } }
    },
    {
      Sid       = "List"
      Effect    = "Allow"
      Action    = "s3:ListBucket"
      Resource  = var.bucket_arn
      Condition = { StringLike = { "s3:prefix" = flatten([for prefix in local.seen : [prefix, "${prefix}/*"]]) } }
    },
    {
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for prefix in local.seen : "${var.bucket_arn}/${prefix}/*"]
    },
    # Tells jobs what to do, and makes a table: its first version, none after.
    {
      Sid      = "Write"
      Effect   = "Allow"
      Action   = ["s3:AbortMultipartUpload", "s3:PutObject"]
      Resource = ["${var.bucket_arn}/jobs/*", "${var.bucket_arn}/lake/bronze/*/_delta_log/00000000000000000000.json"]
    },
    { Sid = "Encrypt", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.lake_key_arn },
    # What was started long ago, and what a task left that was fetched; the newest starts stay.
    { Sid = "Forget", Effect = "Allow", Action = "s3:DeleteObject", Resource = [for folder in ["generations", "tasks"] : "${var.bucket_arn}/jobs/*/${folder}/*"] },
    # Topics and ACLs of pipelines; users are made by Terraform.
    {
      Sid    = "ProvisionTopics"
      Effect = "Allow"
      Action = [
        "kafka-cluster:AlterCluster", "kafka-cluster:AlterTopic", "kafka-cluster:AlterTopicDynamicConfiguration", "kafka-cluster:Connect",
        "kafka-cluster:CreateTopic", "kafka-cluster:DescribeCluster", "kafka-cluster:DescribeTopic", "kafka-cluster:DescribeTopicDynamicConfiguration",
      ]
      Resource = [var.cluster_arn, "${replace(var.cluster_arn, ":cluster/", ":topic/")}/*"]
    },
  ] })
}
