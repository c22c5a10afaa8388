package millrace.tee;

import java.util.List;
import millrace.delta.AppendOnce;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import scala.jdk.javaapi.CollectionConverters;

/** A table whose files Delta's own writer made, and the transaction in which it did. */
record ByDelta(String table, String why, OptimisticTransaction commit, List<FileAction> files) {

  /** The rows are read and judged once more, for this table alone. */
  static ByDelta write(Wanted wanted, String why, Dataset<Row> rows) {
    OptimisticTransaction commit = AppendOnce.begin(rows.sparkSession(), wanted.table());
    Dataset<Row> its = wanted.of(rows, commit.metadata().schema());
    return new ByDelta(
        wanted.table(), why, commit, CollectionConverters.asJava(commit.writeFiles(its)));
  }

  long rows() {
    return files.stream()
        .filter(AddFile.class::isInstance)
        .mapToLong(file -> (long) ((AddFile) file).numLogicalRecords().get())
        .sum();
  }
}
