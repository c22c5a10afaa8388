output "bundle" {
  description = "All that the site is told; the password is in the secret alone."
  value = {
    site              = var.site
    bootstrap         = var.bootstrap
    user              = module.user.user
    secret_arn        = module.user.secret_arn
    topics            = local.topics
    acls              = [for right in local.rights : { user = var.site, resource = right[0], name = right[1], operation = right[2], prefixed = false }]
    policy_arn        = aws_iam_policy.this.arn
    quota_bytes_per_s = var.quota_bytes_per_s
  }
}
