package millrace.kafka;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.util.LongAccumulator;

/**
 * How much a stream's next batch may read, and from when on: said from outside, from batch to batch;
 * and what its batches have read, of which that is judged.
 */
public final class Turn {
  private static final Map<String, Turn> ALL = new ConcurrentHashMap<>();

  private final LongAccumulator records = SparkContext.getOrCreate().longAccumulator();
  private final LongAccumulator bytes = SparkContext.getOrCreate().longAccumulator();
  private volatile long rows;
  private volatile long notBefore = System.nanoTime();

  private Turn() {}

  /** Of the stream that was given this name as its option `turn`. */
  public static Turn of(String name) {
    return ALL.computeIfAbsent(name, any -> new Turn());
  }

  public void next(long rows, long restMs) {
    this.notBefore = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(restMs);
    this.rows = rows;
  }

  /** Since the session began. */
  public long records() {
    return records.value();
  }

  public long bytes() {
    return bytes.value();
  }

  /** Until something was said, Spark's own. */
  ReadLimit limit(ReadLimit sparks) {
    return rows == 0 ? sparks : ReadLimit.maxRows(rows);
  }

  boolean rests(long now) {
    return now - notBefore < 0;
  }

  /** Goes with the tasks of a batch; what they add comes back with their ends. */
  Count count() {
    return new Count(records, bytes);
  }

  record Count(LongAccumulator records, LongAccumulator bytes) implements java.io.Serializable {
    void add(long moreRecords, long moreBytes) {
      records.add(moreRecords);
      bytes.add(moreBytes);
    }
  }
}
