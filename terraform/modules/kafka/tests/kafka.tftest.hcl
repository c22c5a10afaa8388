mock_provider "aws" {
  source = "../mocks"
}

variables {
  name          = "millrace-test"
  kafka_version = "3.9.x.kraft"
  instance_type = "express.m7g.large"
  vpc_id        = "vpc-1"
  network_cidr  = "10.40.0.0/16"
  subnet_ids    = ["subnet-a", "subnet-b", "subnet-c"]
  users         = { ingest = 1 }
  passwords     = { ingest = "not-a-secret-of-anybody-at-all" }
  log_key_arn   = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "nothing_listens_in_plain_text_or_without_a_login" {
  assert {
    condition     = aws_msk_cluster.this.encryption_info[0].encryption_in_transit[0].client_broker == "TLS"
    error_message = "TLS, nothing else"
  }

  assert {
    condition     = !aws_msk_cluster.this.client_authentication[0].unauthenticated && aws_msk_cluster.this.client_authentication[0].sasl[0].scram && aws_msk_cluster.this.client_authentication[0].sasl[0].iam
    error_message = "SCRAM or a role"
  }

  assert {
    condition     = strcontains(aws_msk_configuration.this.server_properties, "allow.everyone.if.no.acl.found=false")
    error_message = "without an ACL, no right"
  }
}

run "express_brokers_keep_their_copies_by_themselves" {
  assert {
    condition     = !strcontains(aws_msk_configuration.this.server_properties, "min.insync.replicas") && length(aws_msk_cluster.this.broker_node_group_info[0].storage_info) == 0
    error_message = "Express brokers refuse to be told"
  }
}

run "brokers_with_disks_keep_three_copies" {
  variables {
    instance_type = "kafka.m7g.large"
    storage_gb    = 100
  }

  assert {
    condition     = strcontains(aws_msk_configuration.this.server_properties, "min.insync.replicas=2") && strcontains(aws_msk_configuration.this.server_properties, "default.replication.factor=3")
    error_message = "three copies, two of them acknowledged"
  }
}

run "sites_connect_from_their_addresses" {
  variables {
    site_cidrs = ["10.90.0.0/16"]
  }

  assert {
    condition     = { for name, rule in aws_vpc_security_group_ingress_rule.sites : name => "${rule.from_port} ${rule.cidr_ipv4}" } == { "iam 10.90.0.0/16" = "9098 10.90.0.0/16", "scram 10.90.0.0/16" = "9096 10.90.0.0/16" }
    error_message = "by SCRAM and by role, from there alone"
  }
}

run "reject_open_security_group" {
  command         = plan
  expect_failures = [var.site_cidrs]
  variables {
    site_cidrs = ["0.0.0.0/0"]
  }
}

run "reject_missing_zone" {
  command         = plan
  expect_failures = [var.subnet_ids]
  variables {
    subnet_ids = ["subnet-a", "subnet-b"]
  }
}

run "reject_uneven_zones" {
  command         = plan
  expect_failures = [var.brokers]
  variables {
    brokers = 4
  }
}

run "reject_disk_of_express_brokers" {
  command         = plan
  expect_failures = [var.storage_gb]
  variables {
    storage_gb = 100
  }
}

run "reject_brokers_without_disk" {
  command         = plan
  expect_failures = [var.storage_gb]
  variables {
    instance_type = "kafka.m7g.large"
  }
}

run "reject_unknown_kafka" {
  command         = plan
  expect_failures = [var.kafka_version]
  variables {
    kafka_version = "2.8.1"
  }
}

run "reject_user_without_password" {
  command         = plan
  expect_failures = [var.passwords]
  variables {
    users = { ingest = 1, app = 1 }
  }
}

run "reject_brokers_without_the_jobs_user" {
  command         = plan
  expect_failures = [var.users]
  variables {
    users     = { app = 1 }
    passwords = { app = "not-a-secret-of-anybody-at-all" }
  }
}

run "reject_a_version_that_express_brokers_lack" {
  command         = plan
  expect_failures = [var.kafka_version]
  variables {
    kafka_version = "3.9.x"
  }
}

run "reject_broker_too_small" {
  command         = plan
  expect_failures = [var.instance_type]
  variables {
    instance_type = "kafka.t3.small"
    storage_gb    = 100
  }
}
