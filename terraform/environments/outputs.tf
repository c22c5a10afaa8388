output "sites" {
  description = "What each site is told; its password is in the secret that it names."
  value       = { for site, made in module.site : site => made.bundle }
}

output "jobs" {
  description = "What a runner of jobs is told."
  value = {
    application_id = module.spark.application_id
    role_arns      = module.identity.job_role_arns
    log_group      = module.spark.log_group
    image          = module.spark.repository_url
    bucket         = module.lake.bucket
    bootstrap      = module.kafka.bootstrap
    secret_arn     = module.kafka.secret_arns["ingest"]
  }
}

output "airflow" {
  description = "Where Airflow's pages are, from inside the network, and what it runs."
  value       = { webserver = module.airflow.webserver, role_arn = module.airflow.role_arn, release = local.plan.release }
}
