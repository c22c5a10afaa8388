output "name" {
  description = "The bucket's name, once it may be used."
  value       = aws_s3_bucket.this.bucket

  # Who writes earlier would write without the bucket's rules.
  depends_on = [
    aws_s3_bucket_policy.this,
    aws_s3_bucket_server_side_encryption_configuration.this,
    aws_s3_bucket_versioning.this,
  ]
}

output "arn" {
  description = "The bucket's ARN."
  value       = aws_s3_bucket.this.arn
}
