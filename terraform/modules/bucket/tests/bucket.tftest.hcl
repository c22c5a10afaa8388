mock_provider "aws" {
  source = "../mocks"
}

variables {
  name    = "millrace-test"
  key_arn = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "closed_to_the_public" {
  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.this.block_public_acls,
      aws_s3_bucket_public_access_block.this.block_public_policy,
      aws_s3_bucket_public_access_block.this.ignore_public_acls,
      aws_s3_bucket_public_access_block.this.restrict_public_buckets,
    ])
    error_message = "all four ways to be public are blocked"
  }
}

run "plain_text_and_other_keys_are_refused" {
  assert {
    condition     = [for statement in jsondecode(aws_s3_bucket_policy.this.policy).Statement : "${statement.Effect} ${statement.Sid}"] == ["Deny RefusePlainText", "Deny RefuseOtherKeys"]
    error_message = "the policy refuses, and allows nobody"
  }

  assert {
    condition     = one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default).kms_master_key_id == var.key_arn
    error_message = "objects are encrypted with the given key"
  }

  assert {
    condition     = one(aws_s3_bucket_versioning.this.versioning_configuration).status == "Enabled"
    error_message = "versions are kept"
  }
}

run "another_account_reads_one_prefix" {
  variables {
    reader_account_ids = ["210987654321"]
  }

  assert {
    condition     = jsondecode(aws_s3_bucket_policy.this.policy).Statement[3].Resource == "arn:aws:s3:::millrace-test/lake/silver/*"
    error_message = "silver is read, and nothing else"
  }
}

run "reject_public_bucket" {
  command         = plan
  expect_failures = [var.reader_account_ids]
  variables {
    reader_account_ids = ["*"]
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.name]
  variables {
    name = "Millrace.Lake"
  }
}

run "reject_prefix_that_also_fits_others" {
  command         = plan
  expect_failures = [var.rules]
  variables {
    rules = { jobs = { expire_days = 30 } }
  }
}

run "reject_key_that_is_none" {
  command         = plan
  expect_failures = [var.key_arn]
  variables {
    key_arn = "alias/aws/s3"
  }
}
