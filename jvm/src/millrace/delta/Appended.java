package millrace.delta;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What one append added, to be counted or to be read again without a look at the rest. */
public final class Appended {
  private final DeltaLog log;
  private final Snapshot snapshot;
  private final List<AddFile> files;

  Appended(DeltaLog log, Snapshot snapshot, List<FileAction> actions) {
    this.log = log;
    this.snapshot = snapshot;
    this.files =
        actions.stream().filter(AddFile.class::isInstance).map(AddFile.class::cast).toList();
  }

  public long count() {
    return files.stream().mapToLong(file -> (long) file.numLogicalRecords().get()).sum();
  }

  public Dataset<Row> rows() {
    return log.createDataFrame(
        snapshot, CollectionConverters.asScala(files).toSeq(), false, Option.empty());
  }
}
