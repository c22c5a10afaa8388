package millrace.delta;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.hooks.CheckpointHook$;
import org.apache.spark.sql.delta.hooks.PostCommitHook;

/**
 * Delta's own checkpoint, beside the next batches instead of before them.
 *
 * <p>Tables that are written together come to their hundredth commit together, and each of their
 * checkpoints takes seconds. Who reads meanwhile reads the commits; one that fails is made up for
 * by the next.
 */
final class LaterCheckpoint implements PostCommitHook {
  private static final Logger LOG = LogManager.getLogger(LaterCheckpoint.class);
  private static final ExecutorService ONE_AT_A_TIME =
      Executors.newSingleThreadExecutor(LaterCheckpoint::daemon);

  static void of(OptimisticTransaction commit) {
    commit.unregisterPostCommitHooksWhere(hook -> hook == CheckpointHook$.MODULE$);
    commit.registerPostCommitHook(new LaterCheckpoint());
  }

  @Override
  public String name() {
    return "Checkpoint beside the next batches";
  }

  @Override
  public void run(SparkSession session, CommittedTransaction done) {
    if (done.maintenanceOperation().shouldCheckpoint()) {
      ONE_AT_A_TIME.execute(() -> write(session, done));
    }
  }

  private static void write(SparkSession session, CommittedTransaction done) {
    SparkSession.setActiveSession(session);
    try {
      CheckpointHook$.MODULE$.run(session, done);
    } catch (Exception failure) {
      // Scala throws what it does not declare.
      LOG.warn("no checkpoint of version {}; the next will do", done.committedVersion(), failure);
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "later-checkpoint");
    thread.setDaemon(true);
    return thread;
  }
}
