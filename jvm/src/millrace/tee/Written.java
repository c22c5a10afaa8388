package millrace.tee;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import millrace.delta.AppendOnce;
import millrace.delta.Layout;
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
  public void commit(String table, String writer, long batch) {
    ByDelta delta = byDelta(table).orElse(null);
    if (delta != null) {
      AppendOnce.commit(delta.commit(), table, writer, batch, delta.files());
      return;
    }
    Output output = output(table);
    List<FileAction> actions = filesOf(output).map(file -> (FileAction) file.action()).toList();
    AppendOnce.commit(session, table, writer, batch, actions, layouts.get(table));
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
