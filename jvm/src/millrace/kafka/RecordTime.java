package millrace.kafka;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** A record's time within bounds, and the number itself where it lay outside: see record_time.py. */
final class RecordTime {
  /** 2000-01-01 and 2100-01-01. */
  private static final long EARLIEST_MS = 946_684_800_000L;

  private static final long LATEST_MS = 4_102_444_800_000L;
  private static final UTF8String RAW_HEADER = UTF8String.fromString("millrace-record-time");
  private static final long MICROS = 1000;

  private RecordTime() {}

  static boolean isBelievable(long milliseconds) {
    return EARLIEST_MS < milliseconds && milliseconds < LATEST_MS;
  }

  static long micros(long milliseconds) {
    return Math.min(Math.max(milliseconds, EARLIEST_MS), LATEST_MS) * MICROS;
  }

  static GenericInternalRow header(long milliseconds) {
    byte[] raw = Long.toString(milliseconds).getBytes(StandardCharsets.US_ASCII);
    return new GenericInternalRow(new Object[] {RAW_HEADER, raw});
  }
}
