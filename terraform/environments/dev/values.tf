locals {
  environment = "dev"
  region      = "eu-central-1"
  # terraform destroy takes the data with it.
  disposable = true

  network = {
    cidr  = "10.40.0.0/16"
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
  }

  lake = {
    keep_deleted_days  = 7
    reader_account_ids = []
  }
}
