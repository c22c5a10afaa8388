package millrace.refine;

import java.time.ZoneOffset;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/**
 * A column's type: what it takes from a message, and nothing else. Null stands for a value of the
 * wrong type; a number in quotes is text, and a fraction is no int.
 */
enum Type {
  STRING {
    @Override
    Object text(String value) {
      return UTF8String.fromString(value);
    }
  },
  BOOLEAN {
    @Override
    Object bool(boolean value) {
      return value;
    }
  },
  INT {
    @Override
    Object integer(long value) {
      return (int) value == value ? (Object) (int) value : null;
    }
  },
  BIGINT {
    @Override
    Object integer(long value) {
      return value;
    }
  },
  DOUBLE {
    @Override
    Object integer(long value) {
      return (double) value;
    }

    @Override
    Object real(double value) {
      return value;
    }
  },
  /** Text as ISO 8601 writes it (UTC where it names no zone), or milliseconds since 1970. */
  TIMESTAMP {
    @Override
    Object integer(long value) {
      return value < -MOST_MILLIS || value > MOST_MILLIS ? null : (Object) (value * 1000);
    }

    @Override
    Object micros(long value) {
      return value / 1000 < -MOST_MILLIS || value / 1000 > MOST_MILLIS ? null : (Object) value;
    }

    @Override
    Object text(String value) {
      return isDated(value)
          ? orNull(DateTimeUtils.stringToTimestamp(UTF8String.fromString(value), ZoneOffset.UTC))
          : null;
    }
  },
  DATE {
    @Override
    Object text(String value) {
      return value.length() == DATE_LENGTH && isDated(value)
          ? orNull(DateTimeUtils.stringToDate(UTF8String.fromString(value)))
          : null;
    }
  };

  private static final int DATE_LENGTH = "2026-11-18".length();
  // The year 9999; what lies beyond is no date that readers of the table can all show.
  private static final long MOST_MILLIS = 253_402_300_799_999L;

  static Type of(String name) {
    return valueOf(name.toUpperCase(java.util.Locale.ROOT));
  }

  Object text(String value) {
    return null;
  }

  Object bool(boolean value) {
    return null;
  }

  Object integer(long value) {
    return null;
  }

  Object real(double value) {
    return null;
  }

  /** A point in time, in microseconds since 1970. */
  Object micros(long value) {
    return null;
  }

  /** Spark also takes a bare year, or a bare time, which it adds today's date to. */
  private static boolean isDated(String text) {
    return text.length() >= DATE_LENGTH
        && text.charAt(4) == '-'
        && text.charAt(7) == '-'
        && Character.isDigit(text.charAt(0));
  }

  private static Object orNull(Option<Object> value) {
    return value.isDefined() ? value.get() : null;
  }
}
