package millrace.tee;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.constraints.Constraints;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import scala.jdk.javaapi.CollectionConverters;

/** A table, and what it takes of each row. */
record Output(
    int number,
    String table,
    StructType schema,
    Set<String> counted,
    List<Object> ordinals,
    int day,
    int when)
    implements Serializable {
  private static final int ALWAYS = -1;
  // Held in memory for each open file until it is full: two tasks and three tables at once.
  private static final int ROW_GROUP_BYTES = 32 << 20;

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
    List<Object> ordinals = new ArrayList<>();
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
        ordinals,
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

  ProjectingInternalRow projection() {
    return ProjectingInternalRow.apply(schema, CollectionConverters.asScala(ordinals).toSeq());
  }

  static String folder(String date) {
    return "day=" + date + "/";
  }

  /**
   * How much Parquet may hold, and what it need not try: these columns repeat nothing, and nobody
   * searches them by bounds.
   */
  Map<String, String> tuning() {
    Map<String, String> tuning = new HashMap<>();
    tuning.put("parquet.block.size", String.valueOf(ROW_GROUP_BYTES));
    tuning.put("parquet.size.statistics.enabled", "false");
    for (StructField field : schema.fields()) {
      if (field.dataType() instanceof VariantType) {
        plain(tuning, field.name() + ".value");
      } else if (field.dataType() instanceof BinaryType && !field.name().equals("key")) {
        plain(tuning, field.name());
      }
    }
    return tuning;
  }

  private static void plain(Map<String, String> tuning, String column) {
    tuning.put("parquet.enable.dictionary#" + column, "false");
    tuning.put("parquet.column.statistics.enabled#" + column, "false");
  }
}
