package millrace.delta;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.RowTracking;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.functions;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Files of one day become one file, sorted; the rows stay what they are.
 *
 * <p>OPTIMIZE chooses the files itself, by size, and concatenates them in that order: a file then
 * holds rows of the whole day in no order, and nothing can be skipped. Here the plan chooses. The
 * commit is what OPTIMIZE's is: no data change, so appends go on beside it and streams and change
 * feeds see nothing; a file that somebody else removed meanwhile makes it fail.
 */
public final class Compact {
  private Compact() {}

  /** Bytes of the new file; -1 when not all of the files are in the table any more. */
  public static long run(
      SparkSession session, String table, String day, List<String> paths, List<String> order)
      throws ParseException {
    DeltaLog log = DeltaLog.forTable(session, new Path(table));
    OptimisticTransaction commit = log.startTransaction(Option.empty(), Option.empty());
    String text = "day = DATE'" + day + "'";
    Seq<Expression> predicate =
        seq(List.of(session.sessionState().sqlParser().parseExpression(text)));
    List<AddFile> files = chosen(commit.filterFiles(predicate, false), new HashSet<>(paths));
    if (files.size() < paths.size()) {
      return -1;
    }
    List<FileAction> written = write(log, commit, files, order);
    List<Action> actions = new ArrayList<>();
    long now = System.currentTimeMillis();
    files.forEach(file -> actions.add(file.removeWithTimestamp(now, false)));
    written.forEach(file -> actions.add(sameRows((AddFile) file)));
    commit.commit(
        seq(actions),
        new DeltaOperations.Optimize(predicate, seq(List.of()), false, Option.empty(), false));
    return written.stream().mapToLong(file -> ((AddFile) file).size()).sum();
  }

  private static List<AddFile> chosen(Seq<AddFile> files, Set<String> paths) {
    return CollectionConverters.asJava(files).stream()
        .filter(file -> paths.contains(file.path()))
        .toList();
  }

  private static List<FileAction> write(
      DeltaLog log, OptimisticTransaction commit, List<AddFile> files, List<String> order) {
    // With row tracking a row keeps its id.
    Dataset<Row> rows =
        RowTracking.preserveRowTrackingColumns(
            log.createDataFrame(commit.snapshot(), seq(files), false, Option.empty()),
            commit.snapshot());
    Column[] columns = order.stream().map(functions::col).toArray(Column[]::new);
    return CollectionConverters.asJava(
        commit.writeFiles(rows.coalesce(1).sortWithinPartitions(columns)));
  }

  private static AddFile sameRows(AddFile file) {
    return file.copy(
        file.path(),
        file.partitionValues(),
        file.size(),
        file.modificationTime(),
        false,
        file.stats(),
        file.tags(),
        file.deletionVector(),
        file.baseRowId(),
        file.defaultRowCommitVersion(),
        file.clusteringProvider(),
        file.copy$default$12(),
        file.copy$default$13());
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
