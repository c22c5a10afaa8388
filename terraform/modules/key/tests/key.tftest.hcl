mock_provider "aws" {
  source = "../mocks"
}

variables {
  name        = "millrace-test"
  description = "Tests"
}

run "a_service_uses_it_for_this_account_alone" {
  variables {
    services = ["sns.amazonaws.com", "logs.eu-central-1.amazonaws.com"]
  }

  assert {
    condition = [for statement in jsondecode(aws_kms_key.this.policy).Statement : lookup(statement, "Condition", null)] == [
      null,
      { StringEquals = { "aws:SourceAccount" = "123456789012" } },
      { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = "arn:aws:logs:*:123456789012:log-group:*" } },
    ]
    error_message = "each service is bound to this account"
  }

  assert {
    condition     = aws_kms_key.this.enable_key_rotation
    error_message = "the key rotates"
  }
}

run "another_account_may_only_decrypt" {
  variables {
    reader_account_ids = ["210987654321"]
  }

  assert {
    condition     = jsondecode(aws_kms_key.this.policy).Statement[1].Action == ["kms:Decrypt", "kms:DescribeKey"]
    error_message = "readers do not encrypt"
  }
}

run "reject_everybody_as_reader" {
  command         = plan
  expect_failures = [var.reader_account_ids]
  variables {
    reader_account_ids = ["*"]
  }
}

run "reject_service_elsewhere" {
  command         = plan
  expect_failures = [var.services]
  variables {
    services = ["logs.example.org"]
  }
}
