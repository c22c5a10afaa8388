output "secret_arn" {
  description = "The secret with username and password, once the brokers know it."
  value       = aws_secretsmanager_secret.this.arn

  depends_on = [aws_msk_single_scram_secret_association.this]
}

output "user" {
  description = "Name of the user."
  value       = var.user
}
