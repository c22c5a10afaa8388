package millrace.tee;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.parquet.column.ParquetProperties;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/** A table, and what it takes of each row. */
record Output(
    int number,
    String table,
    StructType schema,
    Set<String> counted,
    boolean exact,
    int[] ordinals,
    int day,
    int when)
    implements Serializable {
  private static final int ALWAYS = -1;
  private static final String DELETION_VECTORS = "delta.enableDeletionVectors";

  static Output of(int number, Wanted wanted, Snapshot now, StructType rows) {
    StructType whole = now.metadata().dataSchema();
    List<StructField> fields = new ArrayList<>();
    List<Integer> ordinals = new ArrayList<>();
    for (int one = 0; one < wanted.names().size(); one++) {
      String name = wanted.names().get(one);
      if (whole.getFieldIndex(name).isDefined()) {
        fields.add(whole.apply(name));
        ordinals.add(rows.fieldIndex(wanted.sources().get(one)));
      }
    }
    return new Output(
        number,
        wanted.table(),
        (StructType) new StructType(fields.toArray(StructField[]::new)).asNullable(),
        Set.of(now.statCollectionLogicalSchema().fieldNames()),
        now.metadata().configuration().get(DELETION_VECTORS).contains("true"),
        ordinals.stream().mapToInt(Integer::intValue).toArray(),
        rows.fieldIndex(wanted.sources().get(wanted.names().indexOf("day"))),
        wanted.when() == null ? ALWAYS : rows.fieldIndex(wanted.when()));
  }

  boolean takes(InternalRow row) {
    return when == ALWAYS || row.getBoolean(when);
  }

  static String folder(String date) {
    return "day=" + date + "/";
  }

  /** What Parquet need not try: these columns repeat nothing, and nobody looks for their bounds. */
  ParquetProperties properties() {
    ParquetProperties.Builder properties =
        ParquetProperties.builder().withSizeStatisticsEnabled(false);
    for (StructField field : schema.fields()) {
      if (field.dataType() instanceof VariantType) {
        plain(properties, field.name() + ".value");
      } else if (field.dataType() instanceof BinaryType && !field.name().equals("key")) {
        plain(properties, field.name());
      }
    }
    return properties.build();
  }

  private static void plain(ParquetProperties.Builder properties, String column) {
    properties.withDictionaryEncoding(column, false).withStatisticsEnabled(column, false);
  }
}
