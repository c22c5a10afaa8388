# Where jobs run: an EMR Serverless application, which costs nothing while no job runs, and our image.

resource "aws_emrserverless_application" "this" {
  name          = var.name
  type          = "SPARK"
  release_label = var.release_label
  architecture  = "X86_64"

  # None until an image was pushed; jobs of Millrace need it.
  dynamic "image_configuration" {
    for_each = var.image_tag[*]

    content {
      image_uri = "${aws_ecr_repository.this.repository_url}:${image_configuration.value}"
    }
  }

  maximum_capacity {
    cpu    = "${var.maximum.cpu} vCPU"
    memory = "${var.maximum.memory_gb} GB"
    disk   = "${var.maximum.disk_gb} GB"
  }

  auto_start_configuration {
    enabled = true
  }

  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = var.idle_minutes
  }

  network_configuration {
    subnet_ids         = var.subnet_ids
    security_group_ids = [aws_security_group.this.id]
  }

  depends_on = [aws_ecr_repository_policy.this]
}

# Workers speak with each other, with the network and with S3; nobody begins to speak with them.
resource "aws_security_group" "this" {
  # checkov:skip=CKV2_AWS_5:The application above is in it, by a block that checkov does not follow
  name        = "${var.name}-spark"
  description = "Spark's drivers and workers"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-spark" }
}

resource "aws_vpc_security_group_ingress_rule" "workers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Drivers and workers among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_egress_rule" "workers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Drivers and workers among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_egress_rule" "network" {
  for_each = { endpoints = 443, brokers = 9096 }

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
