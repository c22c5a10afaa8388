package millrace.tee;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.hadoop.CodecFactory;

/**
 * What the open files of one task hold in memory, those of all days and tables together.
 *
 * <p>A file holds its rows until a row group is full. Rows of many days, as a site brings them that
 * was cut off, fill many at once; above the bound the fullest one goes to its file as it is.
 */
final class Room implements AutoCloseable {
  // Parquet reads row groups of this size well; more of it gains little.
  private static final long ROW_GROUP_BYTES = 32 << 20;
  // Rows are of bytes or of megabytes; after so much of them it is asked how much is held.
  private static final long LOOK_EVERY_BYTES = 1 << 20;
  // The rest is for reading, decoding, Spark, and what the collector has yet to find.
  private static final long FOR_ALL_TASKS = Runtime.getRuntime().maxMemory() / 4;
  private static final AtomicInteger TASKS = new AtomicInteger();

  private final List<RowGroups> open = new ArrayList<>();
  private final CodecFactory codecs;
  private long unlooked;

  Room(Configuration settings) {
    codecs = new CodecFactory(settings, ParquetProperties.DEFAULT_PAGE_SIZE);
    TASKS.incrementAndGet();
  }

  /** One task compresses one page at a time; each of these has megabytes outside of the heap. */
  CodecFactory codecs() {
    return codecs;
  }

  void enter(RowGroups file) {
    open.add(file);
  }

  void leave(RowGroups file) {
    open.remove(file);
  }

  void wrote(long bytes) throws IOException {
    unlooked += bytes;
    if (unlooked > LOOK_EVERY_BYTES) {
      unlooked = 0;
      makeRoom();
    }
  }

  private void makeRoom() throws IOException {
    long left = FOR_ALL_TASKS / TASKS.get();
    open.sort(Comparator.comparingLong(RowGroups::heldBytes));
    for (RowGroups file : open) {
      long held = file.heldBytes();
      left -= held;
      // The fullest come last.
      if (held > ROW_GROUP_BYTES || left < 0) {
        file.endGroup();
        left += held;
      }
    }
  }

  @Override
  public void close() {
    TASKS.decrementAndGet();
    codecs.release();
  }
}
