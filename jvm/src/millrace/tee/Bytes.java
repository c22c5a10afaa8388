package millrace.tee;

import org.apache.parquet.io.api.Binary;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Bytes as Parquet takes them, without a copy. */
final class Bytes {
  private Bytes() {}

  static Binary of(byte[] whole) {
    return Binary.fromReusedByteArray(whole);
  }

  /** Of a text or of bytes: Spark's rows hold both alike, and would copy what is asked for as bytes. */
  static Binary at(SpecializedGetters row, int at) {
    UTF8String held = row.getUTF8String(at);
    int begin = (int) (held.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
    return Binary.fromReusedByteArray((byte[]) held.getBaseObject(), begin, held.numBytes());
  }
}
