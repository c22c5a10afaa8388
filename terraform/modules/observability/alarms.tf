# Jobs tell `lag_s`, `batch_age_s` and `halted_sites` of each pipeline under the namespace Millrace.
# Silence counts as unwell: who does not tell may be dead.

locals {
  of_pipelines = merge(
    { for name, limits in var.pipelines : "${name}-lag" => {
      metric = "lag_s", pipeline = name, limit = limits.max_lag_s, text = "Its oldest message waits for longer than ${limits.max_lag_s} s"
    } },
    { for name, limits in var.pipelines : "${name}-freshness" => {
      metric = "batch_age_s", pipeline = name, limit = limits.stale_after_s, text = "Messages wait, and its last batch is older than ${limits.stale_after_s} s"
    } },
    { for name, limits in var.pipelines : "${name}-halted" => {
      metric = "halted_sites", pipeline = name, limit = 0, text = "A site waits for a person, the others go on"
    } },
  )

  # What AWS tells by itself.
  of_services = {
    failed-jobs = {
      namespace = "AWS/EMRServerless", metric = "FailedJobs", dimensions = { ApplicationId = var.application_id }
      statistic = "Sum", comparison = "GreaterThanThreshold", limit = 0, missing = "notBreaching", text = "A job ended with an error"
    }
    failed-tasks = {
      namespace = "AmazonMWAA", metric = "TaskInstanceFailures", dimensions = { Environment = var.airflow_name, DAG = "All", Task = "All" }
      statistic = "Sum", comparison = "GreaterThanThreshold", limit = 0, missing = "notBreaching", text = "A task of a DAG failed"
    }
    scheduler = {
      namespace = "AmazonMWAA", metric = "SchedulerHeartbeat", dimensions = { Environment = var.airflow_name, Function = "Scheduler" }
      statistic = "Sum", comparison = "LessThanThreshold", limit = 1, missing = "breaching", text = "Airflow's scheduler is silent"
    }
    controller = {
      namespace = "AWS/Kafka", metric = "ActiveControllerCount", dimensions = { "Cluster Name" = var.cluster_name }
      statistic = "Maximum", comparison = "LessThanThreshold", limit = 1, missing = "breaching", text = "The brokers have no controller"
    }
    offline-partitions = {
      namespace = "AWS/Kafka", metric = "OfflinePartitionsCount", dimensions = { "Cluster Name" = var.cluster_name }
      statistic = "Maximum", comparison = "GreaterThanThreshold", limit = 0, missing = "notBreaching", text = "Partitions cannot be read or written"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "pipeline" {
  for_each = local.of_pipelines

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "Pipeline ${each.value.pipeline}: ${each.value.text}"
  namespace           = "Millrace"
  metric_name         = each.value.metric
  dimensions          = { pipeline = each.value.pipeline }
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.limit
  period              = 60
  evaluation_periods  = 3
  treat_missing_data  = "breaching"
  alarm_actions       = [aws_sns_topic.this.arn]
  ok_actions          = [aws_sns_topic.this.arn]
}

resource "aws_cloudwatch_metric_alarm" "service" {
  for_each = local.of_services

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.text
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.limit
  period              = 300
  evaluation_periods  = 1
  treat_missing_data  = each.value.missing
  alarm_actions       = [aws_sns_topic.this.arn]
  ok_actions          = [aws_sns_topic.this.arn]
}
