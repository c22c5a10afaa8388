mock_provider "aws" {
  source = "../mocks"
}

variables {
  name   = "millrace-test"
  bucket = "millrace-test-lake"
}

run "named_as_asked" {
  assert {
    condition     = output.bucket == "millrace-test-lake"
    error_message = "the bucket has the given name"
  }
}

run "reject_deleting_a_tables_files_by_age" {
  command         = plan
  expect_failures = [var.rules]
  variables {
    rules = { "lake/bronze/" = { expire_days = 30 } }
  }
}

run "reject_deleting_checkpoints_by_age" {
  command         = plan
  expect_failures = [var.rules]
  variables {
    rules = { "checkpoints/" = { expire_days = 30 } }
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.name]
  variables {
    name = "m"
  }
}

run "reject_public_lake" {
  command         = plan
  expect_failures = [var.reader_account_ids]
  variables {
    reader_account_ids = ["*"]
  }
}

run "reject_deleting_by_age_what_a_job_was_told" {
  command         = plan
  expect_failures = [var.rules]
  variables {
    rules = { "jobs/" = { expire_days = 30 } }
  }
}
