package millrace.refine;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.BinaryType$;
import org.apache.spark.sql.types.DataType;

/**
 * A message's bytes into typed columns and a payload, in one pass, or a reason why not.
 *
 * <p>Spark's own functions take text behind the end of a JSON value and bytes behind an Avro record
 * for granted, make nulls of a broken one, and would decode once for every column.
 */
public abstract class Decoder implements Serializable {
  private static final int LONGEST_REASON = 300;

  final Field root;
  final int columns;

  Decoder(String columns) throws IOException {
    this.root = Field.tree(columns);
    this.columns = new ObjectMapper().readTree(columns).size();
  }

  /** A column of the decoder's struct. */
  public final Column apply(Column value, String struct) {
    return Call.of(
        this,
        "decode",
        DataType.fromDDL(struct),
        List.of(ExpressionUtils.expression(value)),
        List.of(BinaryType$.MODULE$));
  }

  public final InternalRow decode(byte[] value) {
    if (value == null || value.length == 0) {
      return Draft.undecodable(columns, "no-value");
    }
    try {
      Draft draft = new Draft(columns);
      fill(draft, value);
      return draft.finish();
    } catch (Undecodable broken) {
      return Draft.undecodable(columns, broken.getMessage());
    } catch (IOException | RuntimeException | StackOverflowError broken) {
      return Draft.undecodable(columns, nameOfFailure() + ": " + brief(broken));
    }
  }

  abstract void fill(Draft draft, byte[] value) throws IOException;

  /** What a message is that cannot be read. */
  abstract String nameOfFailure();

  static final class Undecodable extends IOException {
    Undecodable(String reason) {
      super(reason);
    }
  }

  private static String brief(Throwable broken) {
    String line = String.valueOf(broken.getMessage()).lines().findFirst().orElse("");
    return line.length() > LONGEST_REASON ? line.substring(0, LONGEST_REASON) : line;
  }
}
