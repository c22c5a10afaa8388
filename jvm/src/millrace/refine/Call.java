package millrace.refine;

import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/** A method of an object of ours as a column. */
public final class Call {
  private Call() {}

  /** Called not deterministic, so that Spark calls it once for a row and not while it plans. */
  public static Column of(
      Object self,
      String method,
      DataType result,
      List<Expression> arguments,
      List<AbstractDataType> types) {
    return ExpressionUtils.column(
        new Invoke(
            Literal$.MODULE$.fromObject(self),
            method,
            result,
            CollectionConverters.asScala(arguments).toSeq(),
            CollectionConverters.asScala(types).toSeq(),
            false,
            false,
            false));
  }
}
