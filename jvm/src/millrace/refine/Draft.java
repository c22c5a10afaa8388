package millrace.refine;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantBuilder;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * A message on its way to a row: its columns, then the payload, which columns were there, which had
 * the wrong type (a bit each), and why it could not be decoded.
 */
final class Draft {
  final VariantBuilder payload = new VariantBuilder(false);
  private final Object[] values;
  private final int columns;
  private long mistyped;
  private long met;

  Draft(int columns) {
    this.columns = columns;
    this.values = new Object[columns + 3];
  }

  /** Null where the value is not of the column's type. */
  void set(Field.Target target, Object value) {
    if (value == null) {
      mistyped |= 1L << target.column();
    } else {
      values[target.column()] = value;
    }
  }

  /** False the second time. */
  boolean meet(Field field) {
    long bit = 1L << field.targets().get(0).column();
    boolean first = (met & bit) == 0;
    met |= bit;
    return first;
  }

  InternalRow finish() {
    Variant rest = payload.result();
    values[columns] = new VariantVal(rest.getValue(), rest.getMetadata());
    values[columns + 1] = mistyped;
    return new GenericInternalRow(values);
  }

  static InternalRow undecodable(int columns, String reason) {
    Object[] values = new Object[columns + 3];
    values[columns + 1] = 0L;
    values[columns + 2] = UTF8String.fromString(reason);
    return new GenericInternalRow(values);
  }
}
