output "name" {
  description = "Name of the environment."
  value       = aws_mwaa_environment.this.name
}

output "webserver" {
  description = "Where Airflow's pages are, from inside the network."
  value       = aws_mwaa_environment.this.webserver_url
}

output "role_arn" {
  description = "Airflow's role."
  value       = aws_iam_role.this.arn
}

output "bucket" {
  description = "The bucket with releases."
  value       = module.bucket.name
}
