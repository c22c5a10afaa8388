package millrace.kafka;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.GeographyVal;
import org.apache.spark.unsafe.types.GeometryVal;
import org.apache.spark.unsafe.types.VariantVal;

/** A row that is only read, whose fields have the few types that its subclass answers for. */
abstract class TypedRow extends InternalRow {

  static RuntimeException notOfThisType(int field) {
    return new UnsupportedOperationException("field " + field + " is not of this type");
  }

  private static RuntimeException isOnlyRead() {
    return new UnsupportedOperationException("this row is only read");
  }

  @Override
  public void setNullAt(int field) {
    throw isOnlyRead();
  }

  @Override
  public void update(int field, Object value) {
    throw isOnlyRead();
  }

  @Override
  public InternalRow copy() {
    throw isOnlyRead();
  }

  @Override
  public boolean getBoolean(int field) {
    throw notOfThisType(field);
  }

  @Override
  public byte getByte(int field) {
    throw notOfThisType(field);
  }

  @Override
  public short getShort(int field) {
    throw notOfThisType(field);
  }

  @Override
  public float getFloat(int field) {
    throw notOfThisType(field);
  }

  @Override
  public double getDouble(int field) {
    throw notOfThisType(field);
  }

  @Override
  public Decimal getDecimal(int field, int precision, int scale) {
    throw notOfThisType(field);
  }

  @Override
  public GeographyVal getGeography(int field) {
    throw notOfThisType(field);
  }

  @Override
  public GeometryVal getGeometry(int field) {
    throw notOfThisType(field);
  }

  @Override
  public CalendarInterval getInterval(int field) {
    throw notOfThisType(field);
  }

  @Override
  public VariantVal getVariant(int field) {
    throw notOfThisType(field);
  }

  @Override
  public InternalRow getStruct(int field, int fields) {
    throw notOfThisType(field);
  }

  @Override
  public MapData getMap(int field) {
    throw notOfThisType(field);
  }

  @Override
  public Object get(int field, DataType type) {
    throw notOfThisType(field);
  }
}
