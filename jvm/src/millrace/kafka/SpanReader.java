package millrace.kafka;

import java.time.Duration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;

/** One task's span of one partition, record by record. */
final class SpanReader implements PartitionReader<InternalRow> {
  private final Consumers.Key key;
  private final Duration patience;
  private final long until;
  private final RecordRow row;
  private final OpenPartition open;
  private boolean isSound = true;
  private boolean isClosed;

  SpanReader(KafkaBatchInputPartition span, long fetchBytes) {
    KafkaOffsetRange range = span.offsetRange();
    key =
        new Consumers.Key(
            range.topicPartition(), Prefetch.within(fetchBytes, span.executorKafkaParams()));
    patience = Duration.ofMillis(span.pollTimeoutMs());
    until = range.untilOffset();
    row = new RecordRow(range.topic());
    open = Consumers.borrow(key);
    open.goTo(range.fromOffset());
  }

  @Override
  public boolean next() {
    if (isClosed) {
      return false;
    }
    // Until it is known to have gone well: whoever comes next gets another consumer.
    isSound = false;
    ConsumerRecord<byte[], byte[]> record = open.nextBefore(until, patience);
    isSound = true;
    if (record == null) {
      // A task may read hundreds of partitions, and Spark closes their readers at its end.
      close();
      return false;
    }
    row.set(record);
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() {
    if (isClosed) {
      return;
    }
    isClosed = true;
    if (isSound) {
      Consumers.giveBack(key, open);
    } else {
      Consumers.discard(key, open);
    }
  }
}
