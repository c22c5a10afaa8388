output "application_id" {
  description = "The application, as a runner is told."
  value       = aws_emrserverless_application.this.id
}

output "application_arn" {
  description = "The application's ARN."
  value       = aws_emrserverless_application.this.arn
}

output "repository_url" {
  description = "Where our image is pushed."
  value       = aws_ecr_repository.this.repository_url
}
