package millrace.kafka;

import java.time.Duration;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;

/**
 * What to read is Spark's to say; when to look is said here: so often, or at once while there is
 * more than a batch may hold. Spark's trigger would let a backlog wait for the next full interval,
 * and its limit is the same for all batches; how much each may read is the stream's turn to say.
 */
final class Stream implements MicroBatchStream, SupportsAdmissionControl {
  private final MicroBatchStream spark;
  private final long paceNanos;
  private final long prefetch;
  private final Turn turn;
  private int partitions;
  private long lookedAt;
  private boolean isBehind = true;
  private boolean hasLooked;

  Stream(MicroBatchStream spark, Duration pace, long prefetch, Turn turn) {
    this.spark = spark;
    this.paceNanos = pace.toNanos();
    this.prefetch = prefetch;
    this.turn = turn;
  }

  /** The begin again means that there is nothing new; Spark asks again in a moment. */
  @Override
  public Offset latestOffset(Offset begin, ReadLimit limit) {
    long now = System.nanoTime();
    if (turn.rests(now) || !isBehind && now - lookedAt < paceNanos) {
      return begin;
    }
    lookedAt = now;
    Offset end = admission().latestOffset(begin, turn.limit(limit));
    hasLooked = true;
    isBehind = !end.equals(reportLatestOffset());
    return end;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new SpanReaders(Prefetch.each(prefetch, partitions, Long.MAX_VALUE), turn.count());
  }

  @Override
  public InputPartition[] planInputPartitions(Offset begin, Offset end) {
    // Of all partitions, also those that have nothing now: each keeps its consumer for a while.
    partitions = ((KafkaSourceOffset) end).partitionToOffsets().size();
    return spark.planInputPartitions(begin, end);
  }

  @Override
  public Offset initialOffset() {
    return spark.initialOffset();
  }

  @Override
  public Offset latestOffset() {
    return spark.latestOffset();
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return admission().getDefaultReadLimit();
  }

  /** Null before the first look: Spark's stream knows no ends then, and would fail. */
  @Override
  public Offset reportLatestOffset() {
    return hasLooked ? admission().reportLatestOffset() : null;
  }

  private SupportsAdmissionControl admission() {
    return (SupportsAdmissionControl) spark;
  }

  @Override
  public Offset deserializeOffset(String json) {
    return spark.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    spark.commit(end);
  }

  @Override
  public void stop() {
    spark.stop();
  }
}
