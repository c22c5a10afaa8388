package millrace.duplicates;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Who sent a message, as its headers say; see repair/core/verify_spec.py for their names. */
record Sender(UTF8String producer, long epoch) {
  private static final UTF8String PRODUCER = UTF8String.fromString("millrace-producer");
  private static final UTF8String EPOCH = UTF8String.fromString("millrace-epoch");
  private static final UTF8String NUMBER = UTF8String.fromString("millrace-seq");
  private static final int KEY_AND_VALUE = 2;
  static final long NONE = -1;

  /** Of its own: a row's bytes are the next row's too. */
  Sender copy() {
    return new Sender(producer.copy(), epoch);
  }

  /** As ingest/core/duplicates.py calls it. */
  String name() {
    return epoch + " " + producer;
  }

  /** Null where the headers name nobody. */
  static Sender of(ArrayData headers) {
    UTF8String producer = text(headers, PRODUCER);
    long epoch = producer == null ? NONE : number(headers, EPOCH);
    return epoch == NONE ? null : new Sender(producer, epoch);
  }

  /** What it called the message; NONE where it gave no number. */
  static long numberIn(ArrayData headers) {
    return number(headers, NUMBER);
  }

  private static long number(ArrayData headers, UTF8String name) {
    UTF8String.LongWrapper found = new UTF8String.LongWrapper();
    UTF8String text = text(headers, name);
    return text != null && text.toLong(found) && found.value >= 0 ? found.value : NONE;
  }

  /** The first of that name. */
  private static UTF8String text(ArrayData headers, UTF8String name) {
    for (int one = 0; one < headers.numElements(); one++) {
      InternalRow header = headers.getStruct(one, KEY_AND_VALUE);
      if (!header.isNullAt(0) && header.getUTF8String(0).equals(name)) {
        return header.isNullAt(1) ? null : UTF8String.fromBytes(header.getBinary(1));
      }
    }
    return null;
  }
}
