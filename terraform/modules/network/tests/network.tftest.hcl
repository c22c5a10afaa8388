mock_provider "aws" {
  source = "../mocks"
}

variables {
  name        = "millrace-test"
  cidr        = "10.40.0.0/16"
  zones       = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  log_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "a_subnet_in_each_zone" {
  assert {
    condition     = { for zone, subnet in aws_subnet.private : zone => subnet.cidr_block } == { eu-central-1a = "10.40.0.0/20", eu-central-1b = "10.40.16.0/20", eu-central-1c = "10.40.32.0/20" }
    error_message = "every zone has a subnet of its own"
  }

  assert {
    condition     = alltrue([for subnet in aws_subnet.private : subnet.map_public_ip_on_launch != true])
    error_message = "no machine has a public address"
  }

  assert {
    condition     = length(aws_default_security_group.closed.ingress) + length(aws_default_security_group.closed.egress) == 0
    error_message = "the default group lets nobody in or out"
  }
}

run "endpoints_are_reached_from_inside_alone" {
  assert {
    condition     = aws_vpc_security_group_ingress_rule.endpoints.cidr_ipv4 == "10.40.0.0/16"
    error_message = "HTTPS from the network, from nowhere else"
  }

  assert {
    condition     = contains([for endpoint in aws_vpc_endpoint.interface : endpoint.service_name], "com.amazonaws.eu-central-1.ecr.dkr")
    error_message = "images are fetched inside the network"
  }
}

run "reject_missing_zone" {
  command         = plan
  expect_failures = [var.zones]
  variables {
    zones = ["eu-central-1a", "eu-central-1b"]
  }
}

run "reject_zone_named_twice" {
  command         = plan
  expect_failures = [var.zones]
  variables {
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1b"]
  }
}

run "reject_zones_of_two_regions" {
  command         = plan
  expect_failures = [var.zones]
  variables {
    zones = ["eu-central-1a", "eu-central-1b", "eu-west-1c"]
  }
}

run "reject_public_addresses" {
  command         = plan
  expect_failures = [var.cidr]
  variables {
    cidr = "52.10.0.0/16"
  }
}

run "reject_network_too_small" {
  command         = plan
  expect_failures = [var.cidr]
  variables {
    cidr = "10.40.0.0/24"
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.name]
  variables {
    name = "Millrace_Dev"
  }
}

run "reject_log_kept_for_an_odd_time" {
  command         = plan
  expect_failures = [var.flow_log_days]
  variables {
    flow_log_days = 3
  }
}
