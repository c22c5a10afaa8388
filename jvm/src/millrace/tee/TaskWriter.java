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
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;

/** One task's rows into the files of one table, in the order in which they come. */
final class TaskWriter {
  /** A task that reads a week of backlog comes through its days once for every partition. */
  private static final int MOST_OPEN = 16;

  private final Output output;
  private final OutputWriterFactory files;
  private final TaskAttemptContext task;
  private final ProjectingInternalRow projection;
  private final Map<Integer, OpenFile> open = new LinkedHashMap<>(MOST_OPEN, 0.75f, true);
  private final List<OpenFile> all = new ArrayList<>();
  private final List<NewFile> done = new ArrayList<>();
  private int latestDay;
  private OpenFile latest;

  TaskWriter(Output output, OutputWriterFactory files, Configuration settings) {
    this.output = output;
    this.files = files;
    this.projection = output.projection();
    Configuration own = new Configuration(settings);
    ParquetWriteSupport.setSchema(output.schema(), own);
    output.tuning().forEach(own::set);
    this.task = attempt(own);
  }

  private static TaskAttemptContext attempt(Configuration settings) {
    TaskContext now = TaskContext.get();
    TaskID id = new TaskID(new JobID("millrace", now.stageId()), TaskType.REDUCE, now.partitionId());
    return new TaskAttemptContextImpl(settings, new TaskAttemptID(id, now.attemptNumber()));
  }

  void write(InternalRow row) throws IOException {
    if (!output.takes(row)) {
      return;
    }
    projection.project(row);
    fileOf(row.getInt(output.day())).write(projection);
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
        makeRoom();
        latest = new OpenFile(output, LocalDate.ofEpochDay(day).toString(), name(), files, task);
        open.put(day, latest);
        all.add(latest);
      }
    }
    return latest;
  }

  private void makeRoom() throws IOException {
    if (open.size() == MOST_OPEN) {
      Iterator<OpenFile> oldest = open.values().iterator();
      done.add(oldest.next().close());
      oldest.remove();
    }
  }

  private static String name() {
    return String.format("part-%05d-%s.c000", TaskContext.getPartitionId(), UUID.randomUUID());
  }
}
