module "key" {
  source = "../key"

  name               = "${var.name}-lake"
  description        = "Tables, checkpoints and what jobs say of themselves"
  reader_account_ids = var.reader_account_ids
}

module "bucket" {
  source = "../bucket"

  name               = var.bucket
  key_arn            = module.key.arn
  rules              = var.rules
  keep_deleted_days  = var.keep_deleted_days
  reader_account_ids = var.reader_account_ids
  reader_prefix      = "lake/silver/"
  force_destroy      = var.force_destroy
}
