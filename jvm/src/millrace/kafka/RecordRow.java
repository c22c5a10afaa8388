package millrace.kafka;

import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** A record as a row with the columns of Spark's Kafka source; one row for all, as Spark has it. */
final class RecordRow {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;
  private static final int TIMESTAMP_TYPE = 6;
  private static final int HEADERS = 7;
  private static final long MICROS = 1000;

  private final GenericInternalRow row = new GenericInternalRow(HEADERS + 1);

  RecordRow(String topic) {
    row.update(TOPIC, UTF8String.fromString(topic));
  }

  void set(ConsumerRecord<byte[], byte[]> record) {
    row.update(KEY, record.key());
    row.update(VALUE, record.value());
    row.update(PARTITION, record.partition());
    row.update(OFFSET, record.offset());
    row.update(TIMESTAMP, Math.multiplyExact(record.timestamp(), MICROS));
    row.update(TIMESTAMP_TYPE, record.timestampType().id);
    row.update(HEADERS, headers(record.headers().toArray()));
  }

  InternalRow row() {
    return row;
  }

  private static GenericArrayData headers(Header[] headers) {
    return headers.length == 0
        ? null
        : new GenericArrayData(Arrays.stream(headers).map(RecordRow::header).toArray());
  }

  private static GenericInternalRow header(Header header) {
    return new GenericInternalRow(
        new Object[] {UTF8String.fromString(header.key()), header.value()});
  }
}
