package millrace.delta;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.SetTransaction;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows replaced beside a stream that appends to the same day.
 *
 * <p>Delta's own MERGE and replaceWhere fail whenever somebody appends to a partition that they
 * read, so beside a commit a second they never come to an end. Here nothing is declared as read:
 * the caller knows that appends bring none of these rows. Repairs exclude each other by a number in
 * the table, one higher with each; a file that somebody else removed meanwhile fails the commit.
 */
public final class Repair {
  public static final String WRITER = "millrace-repair";

  private Repair() {}

  /** The number of the table's last repair; -1 before the first. */
  public static long last(SparkSession session, String table) {
    DeltaLog log = DeltaLog.forTable(session, new Path(table));
    return AppendOnce.lastBatch(log.startTransaction(Option.empty(), Option.empty()), WRITER);
  }

  /**
   * In the files on these days, the rows for which `where` holds become `rows`; the others stay, and
   * so do files in which nothing changes. `key` are the columns that name a row. False where
   * another repair came first.
   */
  public static boolean replace(
      Dataset<Row> rows, String table, String days, String where, List<String> key, long number)
      throws ParseException {
    SparkSession session = (SparkSession) rows.sparkSession();
    DeltaLog log = DeltaLog.forTable(session, new Path(table));
    OptimisticTransaction commit = log.startTransaction(Option.empty(), Option.empty());
    if (AppendOnce.lastBatch(commit, WRITER) >= number) {
      return false;
    }
    commit.readTxn().append(WRITER);
    Seq<Expression> predicate =
        seq(List.of(session.sessionState().sqlParser().parseExpression(days)));
    List<AddFile> files =
        CollectionConverters.asJava(commit.snapshot().filesForScan(predicate, false).files());
    try (Changes changes = new Changes(log, commit, files, where, rows, key)) {
      if (!changes.areThere()) {
        return true;
      }
      List<Action> actions = new ArrayList<>();
      long now = System.currentTimeMillis();
      changes.touched().forEach(file -> actions.add(file.removeWithTimestamp(now, true)));
      Seq<FileAction> written = commit.writeFiles(changes.rows());
      actions.addAll(CollectionConverters.asJava(written));
      actions.add(new SetTransaction(WRITER, number, Option.apply(now)));
      commit.commit(seq(actions), operation(where));
    }
    return true;
  }

  private static DeltaOperations.Operation operation(String where) {
    return new DeltaOperations.Write(
        SaveMode.Overwrite,
        Option.empty(),
        Option.apply(where),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
