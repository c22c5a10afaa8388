package millrace.refine;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.spark.types.variant.VariantBuilder;

/** Goes through one decoded record, field by field. */
final class AvroWalk {
  private static final long MICROS = 1000;
  private static final int MOST_DIGITS = 38;

  private final Draft draft;
  private final VariantBuilder payload;

  AvroWalk(Draft draft) {
    this.draft = draft;
    this.payload = draft.payload;
  }

  void record(GenericRecord record, Field field, boolean isRoot) {
    ArrayList<VariantBuilder.FieldEntry> entries = new ArrayList<>();
    int start = payload.getWritePos();
    for (Schema.Field one : record.getSchema().getFields()) {
      Field inner = field.at(one.name());
      Object value = record.get(one.pos());
      Schema schema = branch(one.schema(), value);
      if (inner.isTaken()) {
        take(value, schema, inner);
        if (isRoot) {
          continue;
        }
      }
      entry(one.name(), start, entries);
      append(value, schema, inner);
    }
    payload.finishWritingObject(start, entries);
  }

  private void entry(String name, int start, ArrayList<VariantBuilder.FieldEntry> entries) {
    int key = payload.addKey(name);
    entries.add(new VariantBuilder.FieldEntry(name, key, payload.getWritePos() - start));
  }

  private void map(Map<?, ?> map, Schema schema) {
    ArrayList<VariantBuilder.FieldEntry> entries = new ArrayList<>();
    int start = payload.getWritePos();
    for (Map.Entry<?, ?> one : map.entrySet()) {
      entry(one.getKey().toString(), start, entries);
      append(one.getValue(), branch(schema.getValueType(), one.getValue()), Field.NONE);
    }
    payload.finishWritingObject(start, entries);
  }

  private void array(Collection<?> items, Schema schema) {
    ArrayList<Integer> offsets = new ArrayList<>();
    int start = payload.getWritePos();
    for (Object item : items) {
      offsets.add(payload.getWritePos() - start);
      append(item, branch(schema.getElementType(), item), Field.NONE);
    }
    payload.finishWritingArray(start, offsets);
  }

  private void append(Object value, Schema schema, Field field) {
    switch (schema.getType()) {
      case NULL -> payload.appendNull();
      case RECORD -> record((GenericRecord) value, field, false);
      case MAP -> map((Map<?, ?>) value, schema);
      case ARRAY -> array((Collection<?>) value, schema);
      case BOOLEAN -> payload.appendBoolean((Boolean) value);
      case FLOAT -> payload.appendFloat((Float) value);
      case DOUBLE -> payload.appendDouble((Double) value);
      case INT, LONG -> number(((Number) value).longValue(), schema.getLogicalType());
      case BYTES, FIXED -> bytes(bytesOf(value), schema.getLogicalType());
      default -> payload.appendString(value.toString());
    }
  }

  private void number(long value, LogicalType logical) {
    if (logical instanceof LogicalTypes.Date) {
      payload.appendDate((int) value);
    } else if (logical instanceof LogicalTypes.LocalTimestampMillis) {
      payload.appendTimestampNtz(Math.multiplyExact(value, MICROS));
    } else if (logical instanceof LogicalTypes.LocalTimestampMicros) {
      payload.appendTimestampNtz(value);
    } else if (logical instanceof LogicalTypes.TimestampMillis) {
      payload.appendTimestamp(Math.multiplyExact(value, MICROS));
    } else if (logical instanceof LogicalTypes.TimestampMicros) {
      payload.appendTimestamp(value);
    } else {
      payload.appendLong(value);
    }
  }

  private void bytes(byte[] value, LogicalType logical) {
    if (logical instanceof LogicalTypes.Decimal decimal && decimal.getPrecision() <= MOST_DIGITS) {
      payload.appendDecimal(new BigDecimal(new BigInteger(value), decimal.getScale()));
    } else {
      payload.appendBinary(value);
    }
  }

  private static byte[] bytesOf(Object value) {
    if (value instanceof GenericFixed fixed) {
      return fixed.bytes();
    }
    ByteBuffer buffer = ((ByteBuffer) value).duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private void take(Object value, Schema schema, Field field) {
    if (value == null) {
      return;
    }
    for (Field.Target target : field.targets()) {
      draft.set(target, typed(value, schema, target.type()));
    }
  }

  private static Object typed(Object value, Schema schema, Type type) {
    return switch (schema.getType()) {
      case BOOLEAN -> type.bool((Boolean) value);
      case FLOAT, DOUBLE -> type.real(((Number) value).doubleValue());
      case STRING, ENUM -> type.text(value.toString());
      case INT, LONG -> whole(((Number) value).longValue(), schema.getLogicalType(), type);
      default -> null;
    };
  }

  private static Object whole(long value, LogicalType logical, Type type) {
    if (logical instanceof LogicalTypes.Date) {
      return type == Type.DATE ? (Object) (int) value : null;
    }
    if (logical instanceof LogicalTypes.TimestampMicros) {
      return type == Type.TIMESTAMP ? type.micros(value) : type.integer(value);
    }
    return type.integer(value);
  }

  private static Schema branch(Schema schema, Object value) {
    return schema.isUnion()
        ? schema.getTypes().get(GenericData.get().resolveUnion(schema, value))
        : schema;
  }
}
