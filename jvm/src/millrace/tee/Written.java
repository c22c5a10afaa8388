package millrace.tee;

import java.util.List;
import java.util.stream.Stream;
import millrace.delta.AppendOnce;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.FileAction;

/**
 * Files that no table knows of yet; each table is told of its own when the caller says so. And what
 * the rows were asked to count, as JSON.
 */
public record Written(
    SparkSession session, List<Output> outputs, List<NewFile> files, String observed) {

  public long rows(String table) {
    return of(table).mapToLong(NewFile::rows).sum();
  }

  /** Fails when the table holds this batch of this writer already. */
  public void commit(String table, String writer, long batch) {
    List<FileAction> actions = of(table).map(file -> (FileAction) file.action()).toList();
    AppendOnce.commit(session, table, writer, batch, actions);
  }

  private Stream<NewFile> of(String table) {
    Output output = outputs.stream().filter(o -> o.table().equals(table)).findFirst().orElseThrow();
    return files.stream().filter(file -> file.output() == output.number());
  }
}
