package millrace.kafka;

import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * A consumer of one partition, and what it fetched beyond the last span: the next begins there.
 *
 * <p>Nothing is skipped: where the broker no longer has what is asked for, polling fails, because
 * Spark sets auto.offset.reset to `none`. Offsets that are missing in between are transactions'
 * markers, aborted records, or compacted away.
 */
final class OpenPartition implements AutoCloseable {
  private static final long NOWHERE = -1;

  private final TopicPartition part;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private Iterator<ConsumerRecord<byte[], byte[]>> fetched = Collections.emptyIterator();
  private ConsumerRecord<byte[], byte[]> beyond;
  private long next = NOWHERE;

  OpenPartition(TopicPartition part, Map<String, Object> settings) {
    this.part = part;
    this.consumer = new KafkaConsumer<>(settings);
    consumer.assign(List.of(part));
  }

  void goTo(long offset) {
    if (offset != next) {
      consumer.seek(part, offset);
      fetched = Collections.emptyIterator();
      beyond = null;
      next = offset;
    }
  }

  /** Null where the span is at its end. */
  ConsumerRecord<byte[], byte[]> nextBefore(long until, Duration patience) {
    while (next < until) {
      ConsumerRecord<byte[], byte[]> record = beyond;
      beyond = null;
      if (record == null && fetched.hasNext()) {
        record = fetched.next();
      }
      if (record == null) {
        fetch(patience);
      } else if (record.offset() < until) {
        next = record.offset() + 1;
        return record;
      } else {
        beyond = record;
        next = until;
      }
    }
    return null;
  }

  private void fetch(Duration patience) {
    if (skipWhatHoldsNoRecord()) {
      return;
    }
    fetched = consumer.poll(patience).iterator();
    if (!fetched.hasNext() && !skipWhatHoldsNoRecord()) {
      throw new TimeoutException(
          "no record of " + part + " from offset " + next + " on came within " + patience);
    }
  }

  /** The consumer is further than its last record: polling would wait for one behind the span. */
  private boolean skipWhatHoldsNoRecord() {
    long reached = consumer.position(part);
    boolean isFurther = reached > next;
    next = Math.max(next, reached);
    return isFurther;
  }

  @Override
  public void close() {
    consumer.close(Duration.ZERO);
  }
}
