locals {
  environment = "prod"
  region      = "eu-central-1"
  # terraform destroy refuses to delete a bucket that holds anything.
  disposable = false

  network = {
    cidr  = "10.44.0.0/16"
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  }

  lake = {
    keep_deleted_days  = 30
    reader_account_ids = []
  }
}
