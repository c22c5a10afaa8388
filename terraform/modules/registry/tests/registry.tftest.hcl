mock_provider "aws" {
  source = "../mocks"
}

variables {
  name        = "millrace-test"
  schemas_dir = "./tests/schemas"
}

run "the_newest_of_a_subject_is_its_schema" {
  assert {
    condition     = { for subject, schema in aws_glue_schema.this : subject => jsondecode(schema.schema_definition).name } == { heat = "New" }
    error_message = "10 is newer than 2"
  }
}

run "reject_file_without_id" {
  command         = plan
  expect_failures = [var.schemas_dir]
  variables {
    schemas_dir = "./tests/misnamed"
  }
}

run "reject_unknown_compatibility" {
  command         = plan
  expect_failures = [var.compatibility]
  variables {
    compatibility = "SOMETIMES"
  }
}
