package millrace.tee;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import millrace.delta.AppendOnce;
import millrace.delta.Brought;
import millrace.delta.Layout;
import millrace.delta.TableCommits;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.FileAction;

/**
 * Files that no table knows of yet; each table is told of its own when the caller says so. And what
 * the rows were asked to count, as JSON.
 */
public record Written(
    SparkSession session,
    List<Output> outputs,
    Map<String, Layout> layouts,
    List<NewFile> files,
    List<ByDelta> byDelta,
    String observed) {

  public long rows(String table) {
    return byDelta(table).map(ByDelta::rows)
        .orElseGet(() -> filesOf(output(table)).mapToLong(NewFile::rows).sum());
  }

  /** Why a table's files were made by Delta's own writer; nothing where they were not. */
  public String obstacle(String table) {
    return byDelta(table).map(ByDelta::why).orElse("");
  }

  /**
   * Fails when the table holds this batch of this writer already, or has changed since the files
   * were written.
   */
  public void commit(String table, String writer, long batch) throws InterruptedException {
    ByDelta delta = byDelta(table).orElse(null);
    if (delta != null) {
      AppendOnce.commit(delta.commit(), table, writer, batch, delta.files());
    } else {
      TableCommits.commit(table, brought(table, writer, batch));
    }
  }

  /** For a table whose files were not made by Delta's own writer. */
  public Brought brought(String table, String writer, long batch) {
    List<FileAction> actions =
        filesOf(output(table)).map(file -> (FileAction) file.action()).toList();
    return new Brought(session, writer, batch, actions, layouts.get(table));
  }

  private Optional<ByDelta> byDelta(String table) {
    return byDelta.stream().filter(one -> one.table().equals(table)).findFirst();
  }

  private Output output(String table) {
    return outputs.stream().filter(one -> one.table().equals(table)).findFirst().orElseThrow();
  }

  private Stream<NewFile> filesOf(Output output) {
    return files.stream().filter(file -> file.output() == output.number());
  }
}
