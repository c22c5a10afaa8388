output "cluster_arn" {
  description = "The cluster."
  value       = aws_msk_cluster.this.arn
}

output "cluster_name" {
  description = "The cluster's name."
  value       = aws_msk_cluster.this.cluster_name
}

output "key_arn" {
  description = "KMS key of the users' secrets."
  value       = module.key.arn
}

output "bootstrap" {
  description = "Brokers for clients that log in by SCRAM: bootstrap in a site's file."
  value       = aws_msk_cluster.this.bootstrap_brokers_sasl_scram
}

output "bootstrap_iam" {
  description = "Brokers for clients that show a role."
  value       = aws_msk_cluster.this.bootstrap_brokers_sasl_iam
}

output "secret_arns" {
  description = "The secret of each user of the platform."
  value       = { for user, made in module.user : user => made.secret_arn }
}
