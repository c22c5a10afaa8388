output "sites" {
  description = "What each site is told; its password is in the secret that it names."
  value       = { for site, made in module.site : site => made.bundle }
}

output "local" {
  description = "What stands in infra/local.yaml where jobs run here; Airflow has it already."
  value       = local.settings
}

output "jobs" {
  description = "The image's repository, the role of each job, and the login that they share."
  value = {
    image      = module.spark.repository_url
    image_tag  = local.spark.image_tag
    role_arns  = module.identity.job_role_arns
    bootstrap  = module.kafka.bootstrap
    secret_arn = module.kafka.secret_arns["ingest"]
  }
}

output "airflow" {
  description = "Where Airflow's pages are, from inside the network, and what it runs."
  value       = { webserver = module.airflow.webserver, role_arn = module.airflow.role_arn, release = local.plan.release }
}
