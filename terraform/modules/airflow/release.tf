# A release is a folder of its own, so Airflow never reads half of one. The former one goes once
# Airflow was told of the new one.

locals {
  release = "releases/${var.release}"
  dags    = fileset(var.dags_dir, "**/*.{py,yaml}")
}

resource "aws_s3_object" "dag" {
  for_each = local.dags

  bucket      = module.bucket.name
  key         = "${local.release}/dags/${each.key}"
  source      = "${var.dags_dir}/${each.key}"
  source_hash = filemd5("${var.dags_dir}/${each.key}")

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "plugins" {
  bucket      = module.bucket.name
  key         = "${local.release}/plugins.zip"
  source      = "${var.packed_dir}/plugins.zip"
  source_hash = filemd5("${var.packed_dir}/plugins.zip")

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "requirements" {
  bucket      = module.bucket.name
  key         = "${local.release}/requirements.txt"
  source      = "${var.packed_dir}/requirements.txt"
  source_hash = filemd5("${var.packed_dir}/requirements.txt")

  lifecycle {
    create_before_destroy = true
  }
}
