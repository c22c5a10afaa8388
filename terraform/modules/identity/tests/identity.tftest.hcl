mock_provider "aws" {
  source = "../mocks"
}

variables {
  name              = "millrace-test"
  bucket_arn        = "arn:aws:s3:::lake"
  lake_key_arn      = "arn:aws:kms:eu-central-1:123456789012:key/1"
  application_arn   = "arn:aws:emr-serverless:eu-central-1:123456789012:/applications/1"
  cluster_arn       = "arn:aws:kafka:eu-central-1:123456789012:cluster/millrace-test/1"
  ingest_secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:AmazonMSK_millrace-test_ingest"
  kafka_key_arn     = "arn:aws:kms:eu-central-1:123456789012:key/2"
}

run "a_role_for_each_job" {
  assert {
    condition     = toset(keys(output.job_role_arns)) == toset(["backfill", "continuity", "ingest", "maintain", "quality", "replay"])
    error_message = "as many roles as there are entry points"
  }
}

run "no_right_is_everybodys" {
  assert {
    condition = alltrue(flatten([for policy in concat(values(aws_iam_role_policy.job)[*].policy, [aws_iam_policy.operator.policy]) : [
      for statement in jsondecode(policy).Statement : alltrue([for action in flatten([statement.Action]) : !strcontains(action, "*")])
    ]]))
    error_message = "every action is named"
  }

  assert {
    condition = toset(flatten([for policy in values(aws_iam_role_policy.job)[*].policy : [
      for statement in jsondecode(policy).Statement : statement.Sid if contains(flatten([statement.Resource]), "*")
    ]])) == toset(["Measure"])
    error_message = "every resource is named, where AWS knows any"
  }
}

run "a_role_is_this_applications" {
  assert {
    condition = alltrue([for role in aws_iam_role.job :
      jsondecode(role.assume_role_policy).Statement[0].Condition.ArnLike["aws:SourceArn"] == [var.application_arn, "${var.application_arn}/jobruns/*"]
    ])
    error_message = "no other application's job takes it"
  }
}

run "reject_bucket_by_its_name" {
  command         = plan
  expect_failures = [var.bucket_arn]
  variables {
    bucket_arn = "lake"
  }
}

run "reject_secret_by_its_name" {
  command         = plan
  expect_failures = [var.ingest_secret_arn]
  variables {
    ingest_secret_arn = "AmazonMSK_millrace-test_ingest"
  }
}
