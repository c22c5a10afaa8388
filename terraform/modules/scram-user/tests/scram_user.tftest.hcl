mock_provider "aws" {
  source = "../mocks"
}

variables {
  user         = "plant-a"
  password     = "not-a-secret-of-anybody-at-all"
  cluster_arn  = "arn:aws:kafka:eu-central-1:123456789012:cluster/millrace-test/1"
  cluster_name = "millrace-test"
  key_arn      = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "named_as_brokers_want_it" {
  assert {
    condition     = aws_secretsmanager_secret.this.name == "AmazonMSK_millrace-test_plant-a" && aws_secretsmanager_secret.this.kms_key_id == var.key_arn
    error_message = "MSK takes such a secret alone"
  }
}

run "password_is_not_kept" {
  assert {
    condition     = aws_secretsmanager_secret_version.this.secret_string == null && aws_secretsmanager_secret_version.this.secret_string_wo == null
    error_message = "state holds no password"
  }
}

run "reject_short_password" {
  command         = plan
  expect_failures = [var.password]
  variables {
    password = "short"
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.user]
  variables {
    user = "Plant A"
  }
}

run "reject_a_cluster_that_is_none" {
  command         = plan
  expect_failures = [var.cluster_arn]
  variables {
    cluster_arn = "millrace-test"
  }
}

run "reject_version_backwards" {
  command         = plan
  expect_failures = [var.password_version]
  variables {
    password_version = 0
  }
}
