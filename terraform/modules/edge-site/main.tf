# One site at the central brokers: a user, a role's rights, and the same rights as Kafka's ACLs.

locals {
  # A site writes under its own name, so none can write what another one says.
  prefix  = "${var.site}."
  topics  = [for topic in sort(tolist(var.topics)) : "${local.prefix}${topic}"]
  cluster = split("cluster/", var.cluster_arn)
  arn     = { for kind in ["topic", "transactional-id", "group"] : kind => "${local.cluster[0]}${kind}/${local.cluster[1]}" }

  # Of a relay that is called as the site is, as millrace.relay.core.spec names them.
  positions    = "relay-offsets-${var.site}"
  transactions = ["relay-${var.site}-0", "relay-${var.site}-1"]
  group        = "relay"

  # In the words of millrace.provisioning.core.site_rights.Acl, and what millrace.relay.core.central_rights makes.
  rights = concat(
    [for pair in setproduct(local.topics, ["write", "describe"]) : ["topic", pair[0], pair[1]]],
    [for operation in ["read", "write", "describe"] : ["topic", local.positions, operation]],
    [for pair in setproduct(local.transactions, ["write", "describe"]) : ["transactional id", pair[0], pair[1]]],
    [["group", local.group, "describe"]],
  )
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
        Sid      = "OwnPositions"
        Effect   = "Allow"
        Action   = ["kafka-cluster:DescribeTopic", "kafka-cluster:ReadData", "kafka-cluster:WriteData"]
        Resource = "${local.arn.topic}/${local.positions}"
      },
      {
        Sid      = "OwnTransactions"
        Effect   = "Allow"
        Action   = ["kafka-cluster:AlterTransactionalId", "kafka-cluster:DescribeTransactionalId"]
        Resource = [for id in local.transactions : "${local.arn["transactional-id"]}/${id}"]
      },
      {
        Sid      = "AskForCoordinator"
        Effect   = "Allow"
        Action   = "kafka-cluster:DescribeGroup"
        Resource = "${local.arn.group}/${local.group}"
      },
    ]
  })
}
