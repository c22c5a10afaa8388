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

  kafka = {
    version       = "3.9.x.kraft"
    instance_type = "express.m7g.large"
    brokers       = 3
    storage_gb    = null
    site_cidrs    = []
    # Raised by one, a number makes a new password.
    users                  = { ingest = 1, app = 1 }
    site_password_versions = {}
  }

  spark = {
    # null until the first image was pushed.
    image_tag = null
    # Of each job.
    executors = 4
    cores     = 2
    # Of all jobs together.
    maximum = { cpu = 64, memory_gb = 256, disk_gb = 1000 }
  }

  airflow = {
    size        = "mw1.medium"
    max_workers = 5
  }

  alarms = {
    mail       = []
    budget_usd = 6000
  }
}
