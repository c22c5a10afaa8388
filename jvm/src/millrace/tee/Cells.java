package millrace.tee;

import java.util.Arrays;
import java.util.Optional;
import org.apache.parquet.column.ColumnWriteStore;
import org.apache.parquet.column.ColumnWriter;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;

/** The cells of a row of Spark, for a file's columns. */
record Cells(MessageType file, ColumnWriteStore columns) {

  /** Whether there are cells for values of this type. */
  static boolean knows(DataType type) {
    if (type instanceof StructType struct) {
      return Arrays.stream(struct.fields()).allMatch(field -> knows(field.dataType()));
    }
    if (type instanceof ArrayType array) {
      return knows(array.elementType());
    }
    return type instanceof VariantType || put(type).isPresent();
  }

  /** Of a row's fields, or of a struct's that is at `path`. */
  Cell[] of(StructType fields, String... path) {
    Cell[] cells = new Cell[fields.length()];
    for (int one = 0; one < cells.length; one++) {
      cells[one] = cell(fields.apply(one).dataType(), below(path, fields.apply(one).name()));
    }
    return cells;
  }

  private Cell cell(DataType type, String... path) {
    int whole = file.getMaxDefinitionLevel(path);
    if (type instanceof StructType struct) {
      return new Cell.Struct(of(struct, path), whole);
    }
    if (type instanceof ArrayType array) {
      String[] element = below(path, "list", "element");
      int depth = file.getMaxRepetitionLevel(element);
      return new Cell.Many(cell(array.elementType(), element), depth, whole);
    }
    if (type instanceof VariantType) {
      return new Cell.Variant(writer(below(path, "value")), writer(below(path, "metadata")), whole);
    }
    return new Cell.Leaf(writer(path), whole, put(type).orElseThrow());
  }

  private ColumnWriter writer(String... path) {
    return columns.getColumnWriter(file.getColumnDescription(path));
  }

  private static String[] below(String[] path, String... names) {
    String[] longer = Arrays.copyOf(path, path.length + names.length);
    System.arraycopy(names, 0, longer, path.length, names.length);
    return longer;
  }

  private static Optional<Cell.Put> put(DataType type) {
    if (type instanceof StringType || type instanceof BinaryType) {
      return Optional.of((row, at, column, r, d) -> column.write(Bytes.at(row, at), r, d));
    }
    if (type instanceof LongType || type instanceof TimestampType) {
      return Optional.of((row, at, column, r, d) -> column.write(row.getLong(at), r, d));
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Optional.of((row, at, column, r, d) -> column.write(row.getInt(at), r, d));
    }
    if (type instanceof DoubleType) {
      return Optional.of((row, at, column, r, d) -> column.write(row.getDouble(at), r, d));
    }
    if (type instanceof BooleanType) {
      return Optional.of((row, at, column, r, d) -> column.write(row.getBoolean(at), r, d));
    }
    return Optional.empty();
  }
}
