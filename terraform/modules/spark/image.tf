resource "aws_ecr_repository" "this" {
  name = "${var.name}/jobs"
  # What ran under a tag can be run again.
  image_tag_mutability = "IMMUTABLE"
  force_delete         = var.force_destroy

  image_scanning_configuration {
    scan_on_push = true
  }

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = var.key_arn
  }
}

resource "aws_ecr_repository_policy" "this" {
  repository = aws_ecr_repository.this.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "ApplicationPulls"
      Effect    = "Allow"
      Principal = { Service = "emr-serverless.amazonaws.com" }
      Action    = ["ecr:BatchGetImage", "ecr:DescribeImages", "ecr:GetDownloadUrlForLayer"]
      Condition = { StringLike = { "aws:SourceArn" = "arn:aws:emr-serverless:*:${data.aws_caller_identity.current.account_id}:/applications/*" } }
    }]
  })
}

resource "aws_ecr_lifecycle_policy" "this" {
  repository = aws_ecr_repository.this.name
  policy = jsonencode({
    rules = [{
      rulePriority = 1
      description  = "The newest ${var.kept_images}"
      selection    = { tagStatus = "any", countType = "imageCountMoreThan", countNumber = var.kept_images }
      action       = { type = "expire" }
    }]
  })
}

data "aws_caller_identity" "current" {}
