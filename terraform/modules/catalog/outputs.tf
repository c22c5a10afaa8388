output "databases" {
  description = "The database of each layer."
  value       = { for layer, database in aws_glue_catalog_database.this : layer => database.name }
}
