package millrace.delta;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.OptimisticTransaction;

/** The commits that this JVM makes to a table, one after the other. */
public final class TableCommits implements Groups.Table<Brought> {
  private static final ConcurrentMap<String, Groups<Brought>> TABLES = new ConcurrentHashMap<>();
  // A thread for each table that has commits to make; without any it ends after a minute.
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(TableCommits::daemon);

  private final String table;

  private TableCommits(String table) {
    this.table = table;
  }

  /** Returns at once; each batch has its answer in time. */
  public static void add(String table, List<Brought> batches) {
    of(table).add(batches);
  }

  /** Returns when the table has the batch; see AppendOnce for what keeps it from being there. */
  public static void commit(String table, Brought batch) throws InterruptedException {
    add(table, List.of(batch));
    try {
      batch.awaitAnswer();
    } catch (InterruptedException stopped) {
      of(table).withdraw(batch);
      throw stopped;
    }
  }

  private static Groups<Brought> of(String table) {
    return TABLES.computeIfAbsent(table, path -> new Groups<>(new TableCommits(path), THREADS));
  }

  @Override
  public Groups.Attempt<Brought> begin(List<Brought> group) {
    SparkSession session = group.get(0).session;
    // A thread inherits from the one that made it, which was of a query: whoever stops that query
    // cancels its jobs, and these are of all queries.
    session.sparkContext().setLocalProperties(new Properties());
    SparkSession.setActiveSession(session);
    return new Attempt(table, AppendOnce.begin(session, table));
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "commits");
    thread.setDaemon(true);
    return thread;
  }

  private record Attempt(String table, OptimisticTransaction transaction)
      implements Groups.Attempt<Brought> {
    @Override
    public void judge(Brought batch) {
      AppendOnce.judge(transaction, table, batch);
    }

    @Override
    public void commit(List<Brought> batches) {
      AppendOnce.commit(transaction, batches);
    }
  }
}
