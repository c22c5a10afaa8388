package millrace.refine;

import java.io.Serializable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.TimestampType$;

/**
 * The time at which a batch is planned, the same for all its rows.
 *
 * <p>Spark writes the value of its own `current_timestamp()` into the Java code it generates, so
 * every batch would have new code: to compile, and to run cold.
 */
public record Moment(long micros) implements Serializable {

  public static Column now() {
    Moment now = new Moment(ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
    return Call.of(now, "micros", TimestampType$.MODULE$, List.of(), List.of());
  }
}
