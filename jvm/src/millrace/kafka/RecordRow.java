package millrace.kafka;

import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** A record seen as a row with the columns of Spark's Kafka source; nothing is copied or boxed. */
public final class RecordRow extends TypedRow {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;
  private static final int TIMESTAMP_TYPE = 6;
  private static final int HEADERS = 7;

  private final UTF8String topic;
  private ConsumerRecord<byte[], byte[]> record;
  private GenericArrayData headers;

  public RecordRow(String topic) {
    this.topic = UTF8String.fromString(topic);
  }

  public void set(ConsumerRecord<byte[], byte[]> record) {
    this.record = record;
    this.headers = headers(record);
  }

  @Override
  public int numFields() {
    return HEADERS + 1;
  }

  @Override
  public boolean isNullAt(int field) {
    return switch (field) {
      case KEY -> record.key() == null;
      case VALUE -> record.value() == null;
      case HEADERS -> headers == null;
      default -> false;
    };
  }

  @Override
  public byte[] getBinary(int field) {
    return switch (field) {
      case KEY -> record.key();
      case VALUE -> record.value();
      default -> throw notOfThisType(field);
    };
  }

  @Override
  public UTF8String getUTF8String(int field) {
    if (field != TOPIC) {
      throw notOfThisType(field);
    }
    return topic;
  }

  @Override
  public int getInt(int field) {
    return switch (field) {
      case PARTITION -> record.partition();
      case TIMESTAMP_TYPE -> record.timestampType().id;
      default -> throw notOfThisType(field);
    };
  }

  @Override
  public long getLong(int field) {
    return switch (field) {
      case OFFSET -> record.offset();
      case TIMESTAMP -> RecordTime.micros(record.timestamp());
      default -> throw notOfThisType(field);
    };
  }

  @Override
  public ArrayData getArray(int field) {
    if (field != HEADERS) {
      throw notOfThisType(field);
    }
    return headers;
  }

  /** Of most records nothing, so nothing is made for them. */
  private static GenericArrayData headers(ConsumerRecord<byte[], byte[]> record) {
    Header[] own = record.headers().toArray();
    boolean isBelievable = RecordTime.isBelievable(record.timestamp());
    if (own.length == 0 && isBelievable) {
      return null;
    }
    Object[] all = new Object[isBelievable ? own.length : own.length + 1];
    Arrays.setAll(
        all, n -> n < own.length ? header(own[n]) : RecordTime.header(record.timestamp()));
    return new GenericArrayData(all);
  }

  private static GenericInternalRow header(Header header) {
    return new GenericInternalRow(
        new Object[] {UTF8String.fromString(header.key()), header.value()});
  }
}
