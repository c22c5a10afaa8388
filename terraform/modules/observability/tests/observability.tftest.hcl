mock_provider "aws" {
  source = "../mocks"
}

variables {
  name           = "millrace-test"
  environment    = "test"
  pipelines      = { temperature = { max_lag_s = 60, stale_after_s = 90 } }
  application_id = "app-1"
  airflow_name   = "millrace-test"
  cluster_name   = "millrace-test"
  key_arn        = "arn:aws:kms:eu-central-1:123456789012:key/1"
  budget_usd     = 100
}

run "a_pipeline_that_is_silent_is_unwell" {
  assert {
    condition     = { for name, alarm in aws_cloudwatch_metric_alarm.pipeline : name => "${alarm.metric_name} ${alarm.threshold} ${alarm.treat_missing_data}" } == { temperature-lag = "lag_s 60 breaching", temperature-freshness = "batch_age_s 90 breaching", temperature-halted = "halted_sites 0 breaching" }
    error_message = "limits are the pipeline's"
  }
}

run "every_alarm_is_told" {
  assert {
    condition     = alltrue([for alarm in concat(values(aws_cloudwatch_metric_alarm.pipeline), values(aws_cloudwatch_metric_alarm.service)) : length(alarm.alarm_actions) == 1])
    error_message = "an alarm that tells nobody is none"
  }
}

run "dashboard_shows_every_pipeline" {
  assert {
    condition     = jsondecode(aws_cloudwatch_dashboard.this.dashboard_body).widgets[0].properties.metrics == [["Millrace", "lag_s", "pipeline", "temperature"]]
    error_message = "lag of each pipeline"
  }
}

run "reject_no_budget" {
  command         = plan
  expect_failures = [var.budget_usd]
  variables {
    budget_usd = 0
  }
}

run "reject_address_that_is_none" {
  command         = plan
  expect_failures = [var.mail]
  variables {
    mail = ["operators"]
  }
}

run "reject_limit_of_nothing" {
  command         = plan
  expect_failures = [var.pipelines]
  variables {
    pipelines = { temperature = { max_lag_s = 0, stale_after_s = 90 } }
  }
}
