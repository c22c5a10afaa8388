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

  kafka = {
    version       = "3.9.x.kraft"
    instance_type = "kafka.m7g.large"
    brokers       = 3
    storage_gb    = 100
    site_cidrs    = []
    # Raised by one, a number makes a new password.
    users                  = { ingest = 1, app = 1 }
    site_password_versions = {}
  }

  spark = {
    # null until the first image was pushed.
    image_tag = null
    # Of each job.
    executors = 2
    cores     = 1
    # Of all jobs together.
    maximum = { cpu = 16, memory_gb = 64, disk_gb = 200 }
  }

  airflow = {
    size        = "mw1.small"
    max_workers = 2
  }

  alarms = {
    mail       = []
    budget_usd = 1500
  }
}
