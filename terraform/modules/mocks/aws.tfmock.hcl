# What mocked resources answer where the provider checks an answer's form.

mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012" }
}

mock_data "aws_region" {
  defaults = { name = "eu-central-1" }
}

mock_resource "aws_kms_key" {
  defaults = {
    arn    = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
    key_id = "11111111-2222-3333-4444-555555555555"
  }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/mocked" }
}

mock_resource "aws_iam_policy" {
  defaults = { arn = "arn:aws:iam::123456789012:policy/mocked" }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked" }
}

mock_resource "aws_s3_bucket" {
  defaults = { arn = "arn:aws:s3:::mocked" }
}

mock_resource "aws_msk_cluster" {
  defaults = { arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/mocked/1" }
}

mock_resource "aws_msk_configuration" {
  defaults = { arn = "arn:aws:kafka:eu-central-1:123456789012:configuration/mocked/1", latest_revision = 1 }
}

mock_resource "aws_secretsmanager_secret" {
  defaults = { arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:mocked" }
}

mock_resource "aws_security_group" {
  defaults = { id = "sg-mocked" }
}

mock_resource "aws_s3_object" {
  defaults = { version_id = "1" }
}

mock_resource "aws_glue_registry" {
  defaults = { arn = "arn:aws:glue:eu-central-1:123456789012:registry/mocked" }
}

mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-central-1:123456789012:mocked" }
}
