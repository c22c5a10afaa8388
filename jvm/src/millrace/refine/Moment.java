package millrace.refine;

import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DateType$;
import org.apache.spark.sql.types.TimestampType$;

/**
 * The time at which a batch is planned, the same for all its rows.
 *
 * <p>Spark writes the value of its own `current_timestamp()` into the Java code it generates, so
 * every batch would have new code: to compile, and to run cold.
 */
public record Moment(long micros) implements Serializable {
  private static final long DAY_MICROS = 86_400_000_000L;

  /** The same stand in record_time.py. */
  private static final long BEHIND_DAYS = 730;

  private static final long AHEAD_DAYS = 366;

  public static Moment now() {
    return new Moment(ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
  }

  public Column column() {
    return Call.of(this, "micros", TimestampType$.MODULE$, List.of(), List.of());
  }

  /** The UTC date of a record's time; far from this moment the first of its month. */
  public Column day(Column time) {
    return Call.of(
        this,
        "dayOf",
        DateType$.MODULE$,
        List.of(ExpressionUtils.expression(time)),
        List.of(TimestampType$.MODULE$));
  }

  public int dayOf(long time) {
    long day = Math.floorDiv(time, DAY_MICROS);
    long today = Math.floorDiv(micros, DAY_MICROS);
    boolean isNear = today - BEHIND_DAYS <= day && day <= today + AHEAD_DAYS;
    return (int) (isNear ? day : LocalDate.ofEpochDay(day).withDayOfMonth(1).toEpochDay());
  }
}
