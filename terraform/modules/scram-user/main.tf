# A user of the brokers. MSK reads name and password from a secret whose name begins AmazonMSK_,
# encrypted with a key of the account's own.

resource "aws_secretsmanager_secret" "this" {
  # checkov:skip=CKV2_AWS_57:A new password has to be carried to its site; password_version makes one when somebody does
  name                    = "AmazonMSK_${var.cluster_name}_${var.user}"
  description             = "SCRAM login of ${var.user} at ${var.cluster_name}"
  kms_key_id              = var.key_arn
  recovery_window_in_days = var.recovery_window_days
}

resource "aws_secretsmanager_secret_version" "this" {
  secret_id = aws_secretsmanager_secret.this.id

  # Written and never read back: neither plan nor state holds it.
  secret_string_wo         = jsonencode({ username = var.user, password = var.password })
  secret_string_wo_version = var.password_version
}

resource "aws_msk_single_scram_secret_association" "this" {
  cluster_arn = var.cluster_arn
  secret_arn  = aws_secretsmanager_secret.this.arn

  depends_on = [aws_secretsmanager_secret_version.this]
}

# MSK is the only service that may read it by itself.
resource "aws_secretsmanager_secret_policy" "this" {
  secret_arn = aws_secretsmanager_secret.this.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AWSKafkaResourcePolicy" # as MSK itself names it
      Effect    = "Allow"
      Principal = { Service = "kafka.amazonaws.com" }
      Action    = "secretsmanager:GetSecretValue"
      Resource  = aws_secretsmanager_secret.this.arn
    }]
  })
}
