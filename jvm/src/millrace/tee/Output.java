package millrace.tee;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.parquet.column.ParquetProperties;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.constraints.Constraints;
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
    int[] ordinals,
    int day,
    int when)
    implements Serializable {
  private static final int ALWAYS = -1;

  /** `sources` are the row's columns, `names` the table's; `when` is true for the table's rows. */
  static Output of(
      int number,
      String table,
      DeltaLog log,
      StructType row,
      List<String> names,
      List<String> sources,
      String when) {
    Snapshot now = log.unsafeVolatileSnapshot();
    refuseWhatIsNotKnown(table, now);
    StructType whole = now.metadata().dataSchema();
    List<StructField> fields = new ArrayList<>();
    List<Integer> ordinals = new ArrayList<>();
    for (int one = 0; one < names.size(); one++) {
      if (whole.getFieldIndex(names.get(one)).isDefined()) {
        fields.add(whole.apply(names.get(one)));
        ordinals.add(row.fieldIndex(sources.get(one)));
      }
    }
    return new Output(
        number,
        table,
        new StructType(fields.toArray(StructField[]::new)),
        new HashSet<>(List.of(now.statCollectionLogicalSchema().fieldNames())),
        ordinals.stream().mapToInt(Integer::intValue).toArray(),
        row.fieldIndex(sources.get(names.indexOf("day"))),
        when == null ? ALWAYS : row.fieldIndex(when));
  }

  /** Delta's own writer would see to these; files that ignore them would be wrong. */
  private static void refuseWhatIsNotKnown(String table, Snapshot now) {
    boolean isMapped = !now.columnMappingMode().name().equals("none");
    if (isMapped || !Constraints.getAll(now.metadata(), now.spark()).isEmpty()) {
      throw new IllegalArgumentException(
          table
              + " has column mapping or constraints, which its job cannot write; take them away"
              + " (delta.columnMapping.mode, ALTER TABLE ... DROP CONSTRAINT), and let a suite judge");
    }
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
