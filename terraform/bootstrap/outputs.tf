output "backend" {
  description = "What terraform init of an environment is told: -backend-config=<file with this>."
  value       = <<-EOT
    bucket     = "${module.bucket.name}"
    region     = "${var.region}"
    kms_key_id = "${module.key.arn}"
  EOT
}
