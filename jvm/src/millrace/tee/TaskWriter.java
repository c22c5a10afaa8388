package millrace.tee;

import java.io.IOException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** One task's rows into the files of one table, in the order in which they come. */
final class TaskWriter {
  /** A task that reads a week of backlog comes through its days once for every partition. */
  private static final int MOST_OPEN = 16;

  private final Output output;
  private final Configuration settings;
  private final Room room;
  private final Map<Integer, OpenFile> open = new LinkedHashMap<>(MOST_OPEN, 0.75f, true);
  private final List<OpenFile> all = new ArrayList<>();
  private final List<NewFile> done = new ArrayList<>();
  private int latestDay;
  private OpenFile latest;

  TaskWriter(Output output, Configuration settings, Room room) {
    this.output = output;
    this.settings = settings;
    this.room = room;
  }

  void write(UnsafeRow row) throws IOException {
    if (!output.takes(row)) {
      return;
    }
    fileOf(row.getInt(output.day())).write(row);
  }

  List<NewFile> close() throws IOException {
    for (OpenFile file : open.values()) {
      done.add(file.close());
    }
    open.clear();
    return done;
  }

  /** No commit will name what was written, closed or not. */
  void discard() {
    all.forEach(OpenFile::discard);
  }

  private OpenFile fileOf(int day) throws IOException {
    if (latest == null || latestDay != day) {
      latest = open.get(day);
      latestDay = day;
      if (latest == null) {
        closeOldest();
        latest = new OpenFile(output, LocalDate.ofEpochDay(day).toString(), name(), settings, room);
        open.put(day, latest);
        all.add(latest);
      }
    }
    return latest;
  }

  private void closeOldest() throws IOException {
    if (open.size() == MOST_OPEN) {
      Iterator<OpenFile> oldest = open.values().iterator();
      done.add(oldest.next().close());
      oldest.remove();
    }
  }

  private static String name() {
    return String.format(
        "part-%05d-%s.c000.snappy.parquet", TaskContext.getPartitionId(), UUID.randomUUID());
  }
}
