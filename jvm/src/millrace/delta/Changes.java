package millrace.delta;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What differs between rows of a table and those that are to stand in their place, by their keys.
 *
 * <p>Only files with such rows are written anew, and where the table keeps a feed of its changes,
 * the feed gets these rows alone: whoever follows it does not get a whole day for one row.
 */
final class Changes implements AutoCloseable {
  private static final String FEED = "delta.enableChangeDataFeed";
  private static final String CHANGE = "_change_type";
  private static final String FILE = "_file";
  private static final String OLD = "_old";
  private static final String PRINT = "_print";

  private final List<AddFile> files;
  private final List<String> key;
  private final StructType schema;
  private final boolean isFed;
  private final Dataset<Row> before;
  private final Dataset<Row> others;
  private final Dataset<Row> after;
  private final Dataset<Row> changed;
  private final Set<String> touched = new HashSet<>();

  Changes(
      DeltaLog log,
      OptimisticTransaction commit,
      List<AddFile> files,
      String where,
      Dataset<Row> rows,
      List<String> key) {
    this.files = files;
    this.key = key;
    this.schema = commit.metadata().schema();
    this.isFed = commit.metadata().configuration().get(FEED).contains("true");
    Dataset<Row> there =
        log.createDataFrame(
                commit.snapshot(),
                CollectionConverters.asScala(files).toSeq(),
                false,
                Option.empty())
            .withColumn(FILE, functions.col("_metadata.file_name"));
    this.before = there.where(where);
    this.others = there.where("NOT (" + where + ")");
    this.after = rows.select(whole(rows));
    this.changed = changed().persist(StorageLevel.MEMORY_AND_DISK());
    changed
        .select(functions.explode(functions.col(FILE)))
        .distinct()
        .collectAsList()
        .forEach(row -> touched.add(row.getString(0)));
  }

  boolean areThere() {
    return !changed.isEmpty();
  }

  List<AddFile> touched() {
    return files.stream().filter(file -> touched.contains(nameOf(file))).toList();
  }

  /** Of the touched files as they are to be; and what the feed gets, where there is one. */
  Dataset<Row> rows() {
    Column isTouched = functions.col(FILE).isin(touched.toArray());
    Dataset<Row> stay =
        before.where(isTouched).join(keys(), names(), "left_anti").select(columns());
    Dataset<Row> come = after.join(keys(), names(), "left_semi").select(columns());
    Dataset<Row> all = marked(others.where(isTouched).select(columns()).union(stay), null);
    all = all.union(marked(come, null));
    if (!isFed) {
      return sorted(all.drop(CHANGE));
    }
    Column isUpdate = functions.col(OLD).gt(0).and(functions.col("_new").gt(0));
    Dataset<Row> gone = before.join(keys(isUpdate), names());
    Dataset<Row> came = after.join(keys(isUpdate), names());
    return sorted(
        all.union(fed(gone, "update_preimage", "delete"))
            .union(fed(came, "update_postimage", "insert")));
  }

  private Dataset<Row> fed(Dataset<Row> rows, String update, String other) {
    Column[] all =
        Stream.concat(
                Stream.of(columns()),
                Stream.of(
                    functions.when(functions.col("_is"), update).otherwise(other).as(CHANGE)))
            .toArray(Column[]::new);
    return rows.select(all);
  }

  /**
   * By as many tasks as the session gives to so many bytes. Rows whose keys differ in the last
   * column alone, the offset, stay together and in order.
   */
  private Dataset<Row> sorted(Dataset<Row> rows) {
    Column[] order = key.stream().map(functions::col).toArray(Column[]::new);
    Column[] together = Arrays.copyOf(order, order.length - 1);
    return rows.repartition(together).sortWithinPartitions(order);
  }

  private static Dataset<Row> marked(Dataset<Row> rows, String change) {
    return rows.withColumn(CHANGE, functions.lit(change).cast("string"));
  }

  /** Of each key the rows before and after, and the files of those before, where they differ. */
  private Dataset<Row> changed() {
    Column one = functions.lit(1);
    Column none = functions.lit(0);
    Dataset<Row> old = printed(before, functions.col(FILE), one, none);
    Dataset<Row> now = printed(after, functions.lit(null).cast("string"), none, one);
    return old.union(now)
        .groupBy(key.stream().map(functions::col).toArray(Column[]::new))
        .agg(
            functions.sum(OLD).as(OLD),
            functions.sum("_new").as("_new"),
            functions.min(PRINT).as("_least"),
            functions.max(PRINT).as("_most"),
            functions.collect_set(FILE).as(FILE))
        .where("NOT (_old = 1 AND _new = 1 AND _least = _most)")
        .drop("_least", "_most");
  }

  private Dataset<Row> printed(Dataset<Row> rows, Column file, Column old, Column now) {
    List<Column> all = new ArrayList<>(key.stream().map(functions::col).toList());
    all.add(print().as(PRINT));
    all.add(file.as(FILE));
    all.add(old.as(OLD));
    all.add(now.as("_new"));
    return rows.select(all.toArray(Column[]::new));
  }

  /** Text of a time has no microseconds, and a VARIANT can be compared as text alone. */
  private Column print() {
    List<Column> values = new ArrayList<>();
    for (StructField field : schema.fields()) {
      Column value = functions.col("`" + field.name() + "`");
      if (field.dataType() instanceof TimestampType) {
        value = functions.unix_micros(value);
      } else if (field.dataType() instanceof VariantType) {
        value = functions.to_json(value);
      }
      values.add(value.as(field.name()));
    }
    Column text = functions.to_json(functions.struct(values.toArray(Column[]::new)));
    return functions.sha2(text.cast("binary"), 256);
  }

  private Dataset<Row> keys(Column isUpdate) {
    Column[] all =
        Stream.concat(
                key.stream().map(functions::col), Stream.of(isUpdate.as("_is")))
            .toArray(Column[]::new);
    return changed.select(all);
  }

  private Dataset<Row> keys() {
    return changed.select(key.stream().map(functions::col).toArray(Column[]::new));
  }

  private String[] names() {
    return key.toArray(String[]::new);
  }

  private Column[] columns() {
    return Stream.of(schema.fields())
        .map(field -> functions.col("`" + field.name() + "`"))
        .toArray(Column[]::new);
  }

  /** A column that the table has and the rows have not is null in them. */
  private Column[] whole(Dataset<Row> rows) {
    Set<String> there = Set.of(rows.columns());
    return Stream.of(schema.fields())
        .map(
            field ->
                there.contains(field.name())
                    ? functions.col("`" + field.name() + "`")
                    : functions.lit(null).cast(field.dataType()).as(field.name()))
        .toArray(Column[]::new);
  }

  private static String nameOf(AddFile file) {
    String path = file.path();
    return path.substring(path.lastIndexOf('/') + 1);
  }

  @Override
  public void close() {
    changed.unpersist();
  }
}
