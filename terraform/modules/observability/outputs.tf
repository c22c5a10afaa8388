output "topic_arn" {
  description = "Where alarms are told."
  value       = aws_sns_topic.this.arn
}
