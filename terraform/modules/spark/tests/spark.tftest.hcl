mock_provider "aws" {
  source = "../mocks"
}

variables {
  name              = "millrace-test"
  maximum           = { cpu = 16, memory_gb = 64, disk_gb = 200 }
  vpc_id            = "vpc-1"
  network_cidr      = "10.40.0.0/16"
  subnet_ids        = ["subnet-a", "subnet-b", "subnet-c"]
  s3_prefix_list_id = "pl-1"
  key_arn           = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "no_image_until_one_was_pushed" {
  assert {
    condition     = length(aws_emrserverless_application.this.image_configuration) == 0
    error_message = "AWS refuses an image that is not there"
  }

  assert {
    condition     = aws_ecr_repository.this.image_tag_mutability == "IMMUTABLE"
    error_message = "a tag stays what it was"
  }
}

run "our_image_is_taken_by_its_tag" {
  variables {
    image_tag = "0.1.0"
  }

  assert {
    condition     = endswith(aws_emrserverless_application.this.image_configuration[0].image_uri, ":0.1.0")
    error_message = "the image is ours"
  }
}

run "nobody_reaches_the_workers" {
  assert {
    condition     = aws_vpc_security_group_ingress_rule.workers.referenced_security_group_id == aws_security_group.this.id
    error_message = "workers alone reach workers"
  }

  assert {
    condition     = alltrue([for rule in aws_vpc_security_group_egress_rule.network : rule.cidr_ipv4 == "10.40.0.0/16"])
    error_message = "workers reach the network alone"
  }
}

run "reject_another_line_of_spark" {
  command         = plan
  expect_failures = [var.release_label]
  variables {
    release_label = "emr-7.9.0"
  }
}

run "reject_tag_that_moves" {
  command         = plan
  expect_failures = [var.image_tag]
  variables {
    image_tag = "latest"
  }
}

run "reject_memory_that_no_worker_has" {
  command         = plan
  expect_failures = [var.maximum]
  variables {
    maximum = { cpu = 16, memory_gb = 8, disk_gb = 200 }
  }
}

run "reject_missing_zone" {
  command         = plan
  expect_failures = [var.subnet_ids]
  variables {
    subnet_ids = ["subnet-a", "subnet-b", "subnet-b"]
  }
}
