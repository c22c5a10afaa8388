package millrace.tee;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoUnit;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DateLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.spark.sql.delta.stats.StatisticsCollection;

/** The least or the most of a column, from Parquet's words into those of Delta's log. */
enum Bound {
  LEAST,
  MOST;

  private static final int LONGEST_TEXT = 32;
  private static final DateTimeFormatter MILLIS =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

  /** Puts nothing where Delta keeps no bounds, such as for booleans. */
  void put(ObjectNode bounds, String name, PrimitiveType type, Object value) {
    LogicalTypeAnnotation meaning = type.getLogicalTypeAnnotation();
    if (meaning instanceof StringLogicalTypeAnnotation) {
      bounds.put(name, text(((Binary) value).toStringUsingUTF8()));
    } else if (meaning instanceof TimestampLogicalTypeAnnotation) {
      // Whole milliseconds, downwards: who reads them adds one to the most.
      Instant exact = Instant.EPOCH.plus((Long) value, ChronoUnit.MICROS);
      bounds.put(name, MILLIS.format(exact.truncatedTo(ChronoUnit.MILLIS)));
    } else if (meaning instanceof DateLogicalTypeAnnotation) {
      bounds.put(name, LocalDate.ofEpochDay((Integer) value).toString());
    } else if (meaning == null) {
      number(bounds, name, value);
    }
  }

  private String text(String whole) {
    return this == LEAST
        ? StatisticsCollection.truncateMinStringAgg(LONGEST_TEXT, whole)
        : StatisticsCollection.truncateMaxStringAgg(LONGEST_TEXT, whole);
  }

  private static void number(ObjectNode bounds, String name, Object value) {
    if (value instanceof Integer number) {
      bounds.put(name, number);
    } else if (value instanceof Long number) {
      bounds.put(name, number);
    } else if (value instanceof Double number && Double.isFinite(number)) {
      bounds.put(name, number);
    }
  }
}
