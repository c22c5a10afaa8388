package millrace.tee;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What a table takes of the rows: `sources` are the rows' columns, `names` the table's; `when` is
 * true for the table's rows, and null where it takes all of them.
 */
record Wanted(String table, List<String> names, List<String> sources, String when) {

  /** A column that the table has not would be lost without a word. */
  void mustFit(StructType columns) {
    for (String name : names) {
      if (columns.getFieldIndex(name).isEmpty()) {
        throw new IllegalArgumentException(
            table
                + " has no column "
                + name
                + ", which its batches bring; a new start of the job adds it, or ALTER TABLE does");
      }
    }
  }

  /** The columns whose type in the rows is not that of the table. */
  List<String> otherTypes(StructType columns, StructType rows) {
    List<String> found = new ArrayList<>();
    for (int one = 0; one < names.size(); one++) {
      DataType there = columns.apply(names.get(one)).dataType();
      DataType here = rows.apply(sources.get(one)).dataType();
      if (!DataType.equalsIgnoreNullability(there, here)) {
        found.add(names.get(one) + " is " + there.sql() + " and its batches bring " + here.sql());
      }
    }
    return found;
  }

  /** Its rows under the table's names, and as its types where nothing can be lost by that. */
  Dataset<Row> of(Dataset<Row> rows, StructType columns) {
    Dataset<Row> its = when == null ? rows : rows.where(functions.col(quoted(when)));
    Column[] wanted = new Column[names.size()];
    for (int one = 0; one < wanted.length; one++) {
      DataType type = columns.apply(names.get(one)).dataType();
      refuseToLose(names.get(one), rows.schema().apply(sources.get(one)).dataType(), type);
      Column source = functions.col(quoted(sources.get(one)));
      wanted[one] = source.cast(type).as(names.get(one));
    }
    return its.select(wanted);
  }

  private void refuseToLose(String name, DataType from, DataType to) {
    if (!Cast.canUpCast(from.asNullable(), to.asNullable())) {
      throw new IllegalArgumentException(
          "column "
              + name
              + " of "
              + table
              + " is "
              + to.sql()
              + ", and its batches bring "
              + from.sql()
              + "; give the column of the other type a new name, or the pipeline a new table");
    }
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }
}
