# One site at the central brokers: a user, a role's rights, and the same rights as Kafka's ACLs.

locals {
  # A site writes under its own name, so none can write what another one says.
  prefix  = "${var.site}."
  topics  = [for topic in sort(tolist(var.topics)) : "${local.prefix}${topic}"]
  cluster = split("cluster/", var.cluster_arn)
  arn     = { for kind in ["topic", "transactional-id"] : kind => "${local.cluster[0]}${kind}/${local.cluster[1]}" }

  # In the words of millrace.core.provision.Acl; its relay writes in transactions.
  on_topics = [for pair in setproduct(local.topics, ["write", "describe"]) : {
    user = var.site, operation = pair[1], resource = "topic", name = pair[0], prefixed = false
  }]
  on_transactions = [for operation in ["write", "describe"] : {
    user = var.site, operation = operation, resource = "transactional id", name = "${var.site}-", prefixed = true
  }]
}

module "user" {
  source = "../scram-user"

  user                 = var.site
  password             = var.password
  password_version     = var.password_version
  cluster_arn          = var.cluster_arn
  cluster_name         = var.cluster_name
  key_arn              = var.key_arn
  recovery_window_days = var.recovery_window_days
}

# The same rights for a site that shows a role instead of a password.
resource "aws_iam_policy" "this" {
  name        = "${var.cluster_name}-site-${var.site}"
  description = "What site ${var.site} may do at the brokers"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "Connect"
        Effect   = "Allow"
        Action   = ["kafka-cluster:Connect", "kafka-cluster:WriteDataIdempotently"]
        Resource = var.cluster_arn
      },
      {
        Sid      = "WriteOwnTopics"
        Effect   = "Allow"
        Action   = ["kafka-cluster:DescribeTopic", "kafka-cluster:WriteData"]
        Resource = [for topic in local.topics : "${local.arn.topic}/${topic}"]
      },
      {
        Sid      = "OwnTransactions"
        Effect   = "Allow"
        Action   = ["kafka-cluster:AlterTransactionalId", "kafka-cluster:DescribeTransactionalId"]
        Resource = "${local.arn["transactional-id"]}/${var.site}-*"
      },
    ]
  })
}
