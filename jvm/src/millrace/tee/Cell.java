package millrace.tee;

import org.apache.parquet.column.ColumnWriter;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/**
 * Where one field of a row goes: straight into the Parquet columns that hold it.
 *
 * <p>`repeated` and `defined` are Parquet's levels of the field's parent: how deep in lists this
 * value goes on, and how many of the fields around it are there.
 */
interface Cell {
  void write(SpecializedGetters row, int at, int repeated, int defined);

  void none(int repeated, int defined);

  /** How a value of one type is read from a row and written. */
  interface Put {
    void put(SpecializedGetters row, int at, ColumnWriter column, int repeated, int defined);
  }

  /** One value, in one column; `whole` is its level where it is there. */
  record Leaf(ColumnWriter column, int whole, Put value) implements Cell {
    @Override
    public void write(SpecializedGetters row, int at, int repeated, int defined) {
      if (row.isNullAt(at)) {
        column.writeNull(repeated, defined);
      } else {
        value.put(row, at, column, repeated, whole);
      }
    }

    @Override
    public void none(int repeated, int defined) {
      column.writeNull(repeated, defined);
    }
  }

  record Struct(Cell[] fields, int whole) implements Cell {
    @Override
    public void write(SpecializedGetters row, int at, int repeated, int defined) {
      if (row.isNullAt(at)) {
        none(repeated, defined);
        return;
      }
      SpecializedGetters inner = row.getStruct(at, fields.length);
      for (int one = 0; one < fields.length; one++) {
        fields[one].write(inner, one, repeated, whole);
      }
    }

    @Override
    public void none(int repeated, int defined) {
      for (Cell field : fields) {
        field.none(repeated, defined);
      }
    }
  }

  /** `depth` is the level at which its elements repeat; `empty` that of a list without any. */
  record Many(Cell element, int depth, int empty) implements Cell {
    @Override
    public void write(SpecializedGetters row, int at, int repeated, int defined) {
      if (row.isNullAt(at)) {
        none(repeated, defined);
        return;
      }
      var elements = row.getArray(at);
      int count = elements.numElements();
      if (count == 0) {
        none(repeated, empty);
      }
      for (int one = 0; one < count; one++) {
        element.write(elements, one, one == 0 ? repeated : depth, empty + 1);
      }
    }

    @Override
    public void none(int repeated, int defined) {
      element.none(repeated, defined);
    }
  }

  /** Spark's VARIANT: two columns of bytes. */
  record Variant(ColumnWriter value, ColumnWriter metadata, int whole) implements Cell {
    @Override
    public void write(SpecializedGetters row, int at, int repeated, int defined) {
      if (row.isNullAt(at)) {
        none(repeated, defined);
        return;
      }
      var variant = row.getVariant(at);
      value.write(Bytes.of(variant.getValue()), repeated, whole);
      metadata.write(Bytes.of(variant.getMetadata()), repeated, whole);
    }

    @Override
    public void none(int repeated, int defined) {
      value.writeNull(repeated, defined);
      metadata.writeNull(repeated, defined);
    }
  }
}
