mock_provider "aws" {
  source = "../mocks"
}

variables {
  site         = "plant-a"
  topics       = ["temperature-data"]
  password     = "not-a-secret-of-anybody-at-all"
  cluster_arn  = "arn:aws:kafka:eu-central-1:123456789012:cluster/millrace-test/1"
  cluster_name = "millrace-test"
  bootstrap    = "b-1:9096"
  key_arn      = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "writes_its_own_topics_alone" {
  assert {
    condition     = jsondecode(aws_iam_policy.this.policy).Statement[1].Resource == ["arn:aws:kafka:eu-central-1:123456789012:topic/millrace-test/1/plant-a.temperature-data"]
    error_message = "the role's right names the site's topic"
  }

  assert {
    condition     = toset([for acl in output.bundle.acls : acl.name]) == toset(["plant-a.temperature-data", "relay-offsets-plant-a", "relay-plant-a-0", "relay-plant-a-1", "relay"])
    error_message = "the user's rights name the same, and what its relay needs"
  }

  assert {
    condition     = toset([for acl in output.bundle.acls : acl.name if acl.operation == "read"]) == toset(["relay-offsets-plant-a"])
    error_message = "it reads its own relay's positions alone"
  }
}

run "reject_every_topic" {
  command         = plan
  expect_failures = [var.topics]
  variables {
    topics = ["*"]
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.site]
  variables {
    site = "Plant.A"
  }
}

run "reject_quota_of_nothing" {
  command         = plan
  expect_failures = [var.quota_bytes_per_s]
  variables {
    quota_bytes_per_s = 0
  }
}
