package millrace.logstore;

import java.nio.charset.StandardCharsets;
import java.util.Iterator;

/** A version of the log as bytes: one action a line. */
final class Lines {
  private Lines() {}

  static byte[] joined(Iterator<String> lines) {
    StringBuilder text = new StringBuilder();
    lines.forEachRemaining(line -> text.append(line).append('\n'));
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }
}
