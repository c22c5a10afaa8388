terraform {
  required_version = "~> 1.11"

  required_providers {
    # Used by the modules inside, and mocked by the tests here.
    # tflint-ignore: terraform_unused_required_providers
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}
