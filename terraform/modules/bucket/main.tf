# A bucket that nobody reads without a right, without TLS, or without the key.

resource "aws_s3_bucket" "this" {
  # checkov:skip=CKV_AWS_18:Who reads and writes what is an account's CloudTrail to say, for all buckets alike
  # checkov:skip=CKV2_AWS_62:Nobody listens to events of objects; Delta's log says what is new
  # checkov:skip=CKV_AWS_144:Deleted objects can be brought back; another region is the owner's decision and doubles the costs
  bucket        = var.name
  force_destroy = var.force_destroy
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    # Asks KMS once for many objects, not for each.
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = var.key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket = aws_s3_bucket.this.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = jsonencode({ Version = "2012-10-17", Statement = concat(local.refusals, local.readers) })

  # S3 takes one change of a bucket's access at a time.
  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "everything"
    status = "Enabled"
    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }

    noncurrent_version_expiration {
      noncurrent_days = var.keep_deleted_days
    }

    expiration {
      expired_object_delete_marker = true
    }
  }

  dynamic "rule" {
    for_each = var.rules

    content {
      id     = rule.key
      status = "Enabled"

      filter {
        prefix = rule.key
      }

      dynamic "expiration" {
        for_each = rule.value.expire_days[*]

        content {
          days = expiration.value
        }
      }

      dynamic "transition" {
        for_each = rule.value.cold_days[*]

        content {
          days          = transition.value
          storage_class = "INTELLIGENT_TIERING"
        }
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}

locals {
  arn = "arn:aws:s3:::${var.name}"

  refusals = [
    {
      Sid       = "RefusePlainText"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.arn, "${local.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    },
    {
      Sid       = "RefuseOtherKeys"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:PutObject"
      Resource  = "${local.arn}/*"
      # A put that names no key is encrypted by the bucket's own.
      Condition = {
        Null            = { "s3:x-amz-server-side-encryption-aws-kms-key-id" = "false" }
        StringNotEquals = { "s3:x-amz-server-side-encryption-aws-kms-key-id" = var.key_arn }
      }
    },
  ]
  reader_roots = [for id in var.reader_account_ids : "arn:aws:iam::${id}:root"]
  readers = [for statement in [
    {
      Sid       = "ReadersList"
      Effect    = "Allow"
      Principal = { AWS = local.reader_roots }
      Action    = "s3:ListBucket"
      Resource  = local.arn
      Condition = { StringLike = { "s3:prefix" = "${var.reader_prefix}*" } }
    },
    {
      Sid       = "ReadersRead"
      Effect    = "Allow"
      Principal = { AWS = local.reader_roots }
      Action    = "s3:GetObject"
      Resource  = "${local.arn}/${var.reader_prefix}*"
    },
  ] : statement if length(local.reader_roots) > 0]
}
