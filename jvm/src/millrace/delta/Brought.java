package millrace.delta;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.FileAction;

/** Files of one batch of one writer that are written, for a table of this layout. */
public final class Brought implements Groups.Entry {
  final SparkSession session;
  final long batch;
  final List<FileAction> files;
  final Layout layout;
  private final String writer;
  private final CompletableFuture<Void> answer = new CompletableFuture<>();

  public Brought(
      SparkSession session, String writer, long batch, List<FileAction> files, Layout layout) {
    this.session = session;
    this.writer = writer;
    this.batch = batch;
    this.files = files;
    this.layout = layout;
  }

  @Override
  public String writer() {
    return writer;
  }

  @Override
  public void done() {
    answer.complete(null);
  }

  @Override
  public void failed(Throwable why) {
    answer.completeExceptionally(why);
  }

  /** Returns when the table has the batch, and fails with what kept the table from taking it. */
  public void awaitAnswer() throws InterruptedException {
    try {
      answer.get();
    } catch (ExecutionException failure) {
      throw Brought.<RuntimeException>as(failure.getCause());
    }
  }

  /** Scala throws what it does not declare, and callers know failures by their class. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T as(Throwable failure) throws T {
    throw (T) failure;
  }
}
