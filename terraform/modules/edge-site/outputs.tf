output "bundle" {
  description = "All that the site is told; the password is in the secret alone."
  value = {
    site              = var.site
    bootstrap         = var.bootstrap
    user              = module.user.user
    secret_arn        = module.user.secret_arn
    topics            = local.topics
    acls              = concat(local.on_topics, local.on_transactions)
    policy_arn        = aws_iam_policy.this.arn
    quota_bytes_per_s = var.quota_bytes_per_s
  }
}
