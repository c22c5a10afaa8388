# Schemas of messages, for whoever reads topics without us. The files in schemas/ stay the truth.

locals {
  # <id>-<subject>.avsc; the newest id of a subject is its schema.
  files = { for file in fileset(var.schemas_dir, "*.avsc") :
    file => regex("^(?P<id>[0-9]+)-(?P<subject>.+)\\.avsc$", file)
  }
  subjects = { for file, part in local.files : part.subject => tonumber(part.id)... }
}

resource "aws_glue_registry" "this" {
  registry_name = var.name
  description   = "Schemas of messages"
}

resource "aws_glue_schema" "this" {
  for_each = local.subjects

  registry_arn      = aws_glue_registry.this.arn
  schema_name       = each.key
  data_format       = "AVRO"
  compatibility     = var.compatibility
  schema_definition = file("${var.schemas_dir}/${max(each.value...)}-${each.key}.avsc")
}
