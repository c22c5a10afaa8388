# Makes the bucket that holds the state of the environments. Its own state stays here, in a file.

provider "aws" {
  region = var.region
}

module "key" {
  source = "../modules/key"

  name        = "${var.name}-state"
  description = "Terraform's state"
}

module "bucket" {
  source = "../modules/bucket"

  name              = var.bucket
  key_arn           = module.key.arn
  keep_deleted_days = 90
  force_destroy     = var.force_destroy
}
