output "arn" {
  description = "The registry."
  value       = aws_glue_registry.this.arn
}
