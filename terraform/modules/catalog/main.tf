# Where other engines (Athena, Spark elsewhere) find the tables by name. Their truth is the Delta log;
# the columns here are what a reader of the catalogue is shown.

locals {
  entries = merge([for layer, tables in var.tables : {
    for table, columns in tables : "${layer}.${table}" => { layer = layer, table = table, columns = columns }
  }]...)
}

resource "aws_glue_catalog_database" "this" {
  for_each = toset(keys(var.tables))

  name         = "${replace(var.name, "-", "_")}_${each.key}"
  description  = "Tables of the layer ${each.key}"
  location_uri = "s3://${var.bucket}/lake/${each.key}/"
}

resource "aws_glue_catalog_table" "this" {
  for_each = local.entries

  database_name = aws_glue_catalog_database.this[each.value.layer].name
  name          = each.value.table
  table_type    = "EXTERNAL_TABLE"

  parameters = {
    EXTERNAL                     = "TRUE"
    classification               = "delta"
    table_type                   = "delta"
    "spark.sql.sources.provider" = "delta"
  }

  partition_keys {
    name = "day"
    type = "date"
  }

  storage_descriptor {
    location = "s3://${var.bucket}/lake/${each.value.layer}/${each.value.table}/"

    ser_de_info {
      serialization_library = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    }

    dynamic "columns" {
      for_each = each.value.columns

      content {
        name = columns.value.name
        type = columns.value.type
      }
    }
  }
}
