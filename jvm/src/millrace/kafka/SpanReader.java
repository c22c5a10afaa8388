package millrace.kafka;

import java.time.Duration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
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
  private final Turn.Count count;
  private long records;
  private long bytes;
  private boolean isSound = true;
  private boolean isClosed;

  SpanReader(KafkaBatchInputPartition span, long fetchBytes, Turn.Count count) {
    KafkaOffsetRange range = span.offsetRange();
    key =
        new Consumers.Key(
            range.topicPartition(), Prefetch.within(fetchBytes, span.executorKafkaParams()));
    patience = Duration.ofMillis(span.pollTimeoutMs());
    until = range.untilOffset();
    row = new RecordRow(range.topic());
    this.count = count;
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
    records++;
    bytes += size(record);
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
    if (count != null) {
      count.add(records, bytes);
    }
    if (isSound) {
      Consumers.giveBack(key, open);
    } else {
      Consumers.discard(key, open);
    }
  }

  private static long size(ConsumerRecord<byte[], byte[]> record) {
    // An absent key or value is told as -1.
    long size =
        Math.max(0, record.serializedKeySize()) + (long) Math.max(0, record.serializedValueSize());
    for (Header header : record.headers().toArray()) {
      size += header.key().length() + (header.value() == null ? 0 : header.value().length);
    }
    return size;
  }
}
