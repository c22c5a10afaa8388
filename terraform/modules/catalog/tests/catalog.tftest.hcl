mock_provider "aws" {}

variables {
  name   = "millrace-test"
  bucket = "lake"
  tables = {
    bronze = { temperature = [{ name = "site", type = "string" }] }
    silver = { temperature = [{ name = "site", type = "string" }, { name = "value", type = "double" }] }
  }
}

run "entries_lie_where_the_tables_do" {
  assert {
    condition = { for entry in aws_glue_catalog_table.this : "${entry.database_name}.${entry.name}" => entry.storage_descriptor[0].location } == {
      "millrace_test_bronze.temperature" = "s3://lake/lake/bronze/temperature/"
      "millrace_test_silver.temperature" = "s3://lake/lake/silver/temperature/"
    }
    error_message = "each entry names its table's folder"
  }
}

run "columns_keep_their_order" {
  assert {
    condition     = aws_glue_catalog_table.this["silver.temperature"].storage_descriptor[0].columns[*].name == tolist(["site", "value"])
    error_message = "as the table has them"
  }
}

run "reject_bad_name" {
  command         = plan
  expect_failures = [var.tables]
  variables {
    tables = { bronze = { "Tempe-rature" = [] } }
  }
}

run "reject_unknown_layer" {
  command         = plan
  expect_failures = [var.tables]
  variables {
    tables = { gold = {} }
  }
}

run "reject_type_that_glue_lacks" {
  command         = plan
  expect_failures = [var.tables]
  variables {
    tables = { silver = { temperature = [{ name = "payload", type = "variant" }] } }
  }
}
