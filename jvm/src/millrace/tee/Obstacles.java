package millrace.tee;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.constraints.Constraints;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Why the files of a table are not written here but by Delta's own writer.
 *
 * <p>Whatever is not on these lists may ask something of its writers that we know nothing of.
 */
final class Obstacles {
  /** They ask nothing of appended files, or their use shows in a column or a property. */
  private static final Set<String> FEATURES =
      Set.of(
          "allowColumnDefaults",
          "appendOnly",
          "changeDataFeed",
          "checkConstraints",
          "deletionVectors",
          "domainMetadata",
          "generatedColumns",
          "identityColumns",
          "inCommitTimestamp",
          "invariants",
          "typeWidening",
          "typeWidening-preview",
          "v2Checkpoint",
          "vacuumProtocolCheck",
          "variantType",
          "variantType-preview");

  private static final Set<String> PROPERTIES =
      Set.of(
          "delta.appendOnly",
          "delta.autoOptimize.autoCompact",
          "delta.checkpoint.writeStatsAsJson",
          "delta.checkpoint.writeStatsAsStruct",
          "delta.checkpointInterval",
          "delta.checkpointPolicy",
          "delta.checkpointRetentionDuration",
          "delta.dataSkippingNumIndexedCols",
          "delta.dataSkippingStatsColumns",
          "delta.deletedFileRetentionDuration",
          "delta.enableChangeDataFeed",
          "delta.enableDeletionVectors",
          "delta.enableExpiredLogCleanup",
          "delta.enableFullRetentionRollback",
          "delta.enableInCommitTimestamps",
          "delta.enableTypeWidening",
          "delta.inCommitTimestampEnablementTimestamp",
          "delta.inCommitTimestampEnablementVersion",
          "delta.isolationLevel",
          "delta.logRetentionDuration",
          "delta.minReaderVersion",
          "delta.minWriterVersion",
          "delta.sampleRetentionDuration");

  private static final Set<String> OF_COLUMNS = Set.of("comment", "delta.typeChanges");

  private Obstacles() {}

  static List<String> of(Snapshot now, Wanted wanted, StructType rows) {
    List<String> found = new ArrayList<>();
    named("feature ", CollectionConverters.asJava(
        now.protocol().readerAndWriterFeatureNames()), FEATURES, found);
    Metadata table = now.metadata();
    Set<String> set = new TreeSet<>(CollectionConverters.asJava(table.configuration().keySet()));
    set.removeIf(name -> !name.startsWith("delta."));
    named("property ", set, PROPERTIES, found);
    if (!Constraints.getAll(table, now.spark()).isEmpty()) {
      found.add("constraints");
    }
    if (!isByDay(table)) {
      found.add("other partitions than by day");
    }
    inColumns(table.schema(), found);
    found.addAll(wanted.otherTypes(table.schema(), rows));
    for (String name : wanted.names()) {
      DataType type = table.schema().apply(name).dataType();
      if (!Cells.knows(type)) {
        found.add(name + " is " + type.sql());
      }
    }
    return found;
  }

  private static void named(
      String what, Set<String> there, Set<String> known, List<String> found) {
    there.stream().filter(name -> !known.contains(name)).sorted().map(what::concat)
        .forEach(found::add);
  }

  private static boolean isByDay(Metadata table) {
    StructType by = table.partitionSchema();
    return by.length() == 1
        && by.apply(0).name().equals("day")
        && by.apply(0).dataType() instanceof DateType;
  }

  /** What Delta keeps beside a column: how it is generated or counted, its default, its checks. */
  private static void inColumns(DataType type, List<String> found) {
    if (type instanceof ArrayType array) {
      inColumns(array.elementType(), found);
    } else if (type instanceof MapType map) {
      inColumns(map.keyType(), found);
      inColumns(map.valueType(), found);
    } else if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        Set<String> keys = new TreeSet<>();
        CollectionConverters.asJava(field.metadata().map().keySet()).forEach(keys::add);
        named("column " + field.name() + " with ", keys, OF_COLUMNS, found);
        inColumns(field.dataType(), found);
      }
    }
  }
}
