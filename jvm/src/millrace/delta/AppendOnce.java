package millrace.delta;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One batch, one commit, once: as Delta's own streaming sink does it, but for the look-up of the
 * last batch.
 *
 * <p>Delta 4.4 rebuilds the table's whole state with a Spark job to learn it, half of the work of
 * a small batch. The same stands in the version's checksum file; without one Delta's way is taken.
 */
public final class AppendOnce {
  private static final String FORGETTING = "delta.setTransactionRetentionDuration";

  private AppendOnce() {}

  /** Files that no table knows of yet; null when it holds this batch of this writer already. */
  public static Files write(Dataset<Row> rows, String table, String writer, long batch) {
    OptimisticTransaction commit = begin(rows.sparkSession(), table);
    if (lastBatch(commit, writer) >= batch) {
      return null;
    }
    List<FileAction> files = CollectionConverters.asJava(commit.writeFiles(rows));
    return new Files(commit, writer, batch, files);
  }

  /** Of one batch, for one table. */
  public record Files(
      OptimisticTransaction transaction, String writer, long batch, List<FileAction> files) {

    /** How many rows. */
    public long commit() {
      finish(transaction, writer, batch, files);
      return count(files);
    }
  }

  private static long count(List<FileAction> files) {
    return files.stream()
        .filter(AddFile.class::isInstance)
        .mapToLong(file -> (long) ((AddFile) file).numLogicalRecords().get())
        .sum();
  }

  public static boolean holds(SparkSession session, String table, String writer, long batch) {
    return lastBatch(begin(session, table), writer) >= batch;
  }

  /**
   * Files that are written already, of several writers, in one version; fails when the table took one
   * of these batches, or was changed, since the transaction began.
   */
  static void commit(OptimisticTransaction commit, List<Brought> batches) {
    List<Action> actions = new ArrayList<>();
    for (Brought batch : batches) {
      actions.addAll(batch.files);
      actions.add(taken(commit, batch.writer(), batch.batch));
    }
    finish(commit, actions, batches.get(0).writer(), batches.get(0).batch);
  }

  /**
   * Fails when the table holds this batch, or is not any more as it was when the files were written.
   */
  static void judge(OptimisticTransaction commit, String table, Brought batch) {
    refuseToForget(commit);
    batch.layout.mustBe(Layout.of(commit.metadata(), commit.protocol()), table);
    refuseTwice(commit, table, batch.writer(), batch.batch);
  }

  /** Files that were written within this transaction; fails when the table holds this batch. */
  public static void commit(
      OptimisticTransaction commit,
      String table,
      String writer,
      long batch,
      List<FileAction> files) {
    refuseTwice(commit, table, writer, batch);
    finish(commit, writer, batch, files);
  }

  private static void refuseTwice(
      OptimisticTransaction commit, String table, String writer, long batch) {
    if (lastBatch(commit, writer) >= batch) {
      throw new IllegalStateException(table + " took batch " + batch + " meanwhile");
    }
  }

  public static OptimisticTransaction begin(SparkSession session, String table) {
    DeltaLog log = DeltaLog.forTable(session, new Path(table));
    return log.startTransaction(Option.empty(), Option.empty());
  }

  private static void finish(
      OptimisticTransaction commit, String writer, long batch, List<FileAction> files) {
    List<Action> actions = new ArrayList<>(files);
    actions.add(taken(commit, writer, batch));
    finish(commit, actions, writer, batch);
  }

  /** Two drivers with the same batch: the second to commit fails. */
  private static SetTransaction taken(OptimisticTransaction commit, String writer, long batch) {
    commit.readTxn().append(writer);
    return new SetTransaction(writer, batch, Option.apply(System.currentTimeMillis()));
  }

  /** The table's history names this writer and its batch alone; the version has all of them. */
  private static void finish(
      OptimisticTransaction commit, List<Action> actions, String writer, long batch) {
    refuseToForget(commit);
    LaterCheckpoint.of(commit);
    commit.commit(
        CollectionConverters.asScala(actions).toSeq(),
        new DeltaOperations.StreamingUpdate(OutputMode.Append(), writer, batch, Option.empty()));
  }

  /** A pipeline that stands still for longer than that would write its last batch twice. */
  private static void refuseToForget(OptimisticTransaction commit) {
    if (commit.metadata().configuration().contains(FORGETTING)) {
      throw new IllegalArgumentException(
          commit.dataPath()
              + " forgets who wrote to it, so a batch could be in it twice;"
              + " ALTER TABLE ... UNSET TBLPROPERTIES ('"
              + FORGETTING
              + "')");
    }
  }

  static long lastBatch(OptimisticTransaction commit, String writer) {
    Option<Seq<SetTransaction>> known =
        commit.snapshot().checksumOpt().flatMap(checksum -> checksum.setTransactions());
    if (known.isEmpty()) {
      return commit.txnVersion(writer);
    }
    return CollectionConverters.asJava(known.get()).stream()
        .filter(transaction -> transaction.appId().equals(writer))
        .mapToLong(SetTransaction::version)
        .max()
        .orElse(-1);
  }
}
