output "bucket" {
  description = "The bucket, once it may be used."
  value       = module.bucket.name
}

output "bucket_arn" {
  description = "The bucket's ARN."
  value       = module.bucket.arn
}

output "key_arn" {
  description = "KMS key of everything in the bucket."
  value       = module.key.arn
}
