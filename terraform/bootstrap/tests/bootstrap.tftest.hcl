mock_provider "aws" {
  source = "../modules/mocks"
}

variables {
  region = "eu-central-1"
  bucket = "acme-millrace-state"
}

run "says_what_an_environment_is_told" {
  assert {
    condition     = strcontains(output.backend, "bucket     = \"acme-millrace-state\"")
    error_message = "the backend's file names the bucket"
  }
}

run "reject_bad_region" {
  command         = plan
  expect_failures = [var.region]
  variables {
    region = "Frankfurt"
  }
}
