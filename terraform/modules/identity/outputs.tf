output "job_role_arns" {
  description = "The role of each job and task, by the name of its file in spark_jobs."
  value       = { for job, role in aws_iam_role.job : job => role.arn }
}

output "operator_policy_arn" {
  description = "What Airflow's role is given beside its own rights."
  value       = aws_iam_policy.operator.arn
}
