# A release is a folder of its own, so Airflow never reads half of one. The former one goes once
# Airflow was told of the new one.

locals {
  release = "releases/${var.release}"
  dags    = fileset(var.dags_dir, "**/*.{py,yaml}")
  # The checkout's other folders; startup.sh puts them where Millrace looks.
  home = "${local.release}/dags/home"
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

resource "aws_s3_object" "home" {
  for_each = fileset("${var.packed_dir}/home", "**")

  bucket      = module.bucket.name
  key         = "${local.home}/${each.key}"
  source      = "${var.packed_dir}/home/${each.key}"
  source_hash = filemd5("${var.packed_dir}/home/${each.key}")

  lifecycle {
    create_before_destroy = true
  }
}

# What differs between environments: where tables, jobs and brokers are. No secret.
resource "aws_s3_object" "settings" {
  bucket       = module.bucket.name
  key          = "${local.home}/infra/local.yaml"
  content      = var.settings
  content_type = "application/yaml"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "startup" {
  bucket      = module.bucket.name
  key         = "${local.release}/startup.sh"
  source      = "${path.module}/startup.sh"
  source_hash = filemd5("${path.module}/startup.sh")

  lifecycle {
    create_before_destroy = true
  }
}
