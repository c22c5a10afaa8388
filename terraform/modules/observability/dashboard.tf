locals {
  names = sort(keys(var.pipelines))

  graphs = [
    { title = "Lag: age of the oldest waiting message, s", metrics = [for name in local.names : ["Millrace", "lag_s", "pipeline", name]] },
    { title = "Freshness: age of the last batch, s", metrics = [for name in local.names : ["Millrace", "batch_age_s", "pipeline", name]] },
    { title = "Halted sites", metrics = [for name in local.names : ["Millrace", "halted_sites", "pipeline", name]] },
    {
      title = "Failures"
      metrics = [
        ["AWS/EMRServerless", "FailedJobs", "ApplicationId", var.application_id],
        ["AmazonMWAA", "TaskInstanceFailures", "Environment", var.airflow_name, "DAG", "All", "Task", "All"],
      ]
    },
    { title = "Bytes that brokers take, by topic", metrics = [[{ expression = "SEARCH('{AWS/Kafka,\"Cluster Name\",\"Broker ID\",Topic} MetricName=\"BytesInPerSec\" \"Cluster Name\"=\"${var.cluster_name}\"', 'Sum')" }]] },
    { title = "Cores and memory of jobs", metrics = [for metric in ["CPUAllocated", "MemoryAllocated"] : ["AWS/EMRServerless", metric, "ApplicationId", var.application_id]] },
    # AWS tells the costs of all regions in this one.
    { title = "Cost of this month, USD", metrics = [["AWS/Billing", "EstimatedCharges", "Currency", "USD"]], region = "us-east-1", period = 21600 },
  ]
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name
  dashboard_body = jsonencode({ widgets = [for index, graph in local.graphs : {
    type = "metric", x = 12 * (index % 2), y = 6 * floor(index / 2), width = 12, height = 6
    properties = {
      title   = graph.title
      metrics = graph.metrics
      region  = lookup(graph, "region", data.aws_region.current.name)
      period  = lookup(graph, "period", 60)
      stat    = "Maximum"
      view    = "timeSeries"
    }
  }] })
}
