package millrace.fs;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What is on the disk when this returns, and not only in memory: it outlives the machine's power. */
public final class Durable {
  private Durable() {}

  /** A file's bytes, or the names in a folder. */
  public static void sync(Path place) throws IOException {
    try (FileChannel open = FileChannel.open(place, StandardOpenOption.READ)) {
      open.force(true);
    }
  }
}
