# Who may connect at all.

locals {
  ports = { scram = 9096, iam = 9098 }

  from_sites = { for pair in setproduct(keys(local.ports), var.site_cidrs) : join(" ", pair) => {
    port = local.ports[pair[0]]
    cidr = pair[1]
  } }
}

resource "aws_security_group" "this" {
  name        = "${var.name}-kafka"
  description = "The brokers"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-kafka" }
}

resource "aws_vpc_security_group_ingress_rule" "brokers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Brokers among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_egress_rule" "brokers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Brokers among themselves"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.this.id
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = local.ports

  security_group_id = aws_security_group.this.id
  description       = "Jobs and Airflow, by ${each.key}"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  cidr_ipv4         = var.network_cidr
}

resource "aws_vpc_security_group_ingress_rule" "sites" {
  for_each = local.from_sites

  security_group_id = aws_security_group.this.id
  description       = "Sites at ${each.value.cidr}"
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
  cidr_ipv4         = each.value.cidr
}
