package millrace.tee;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.SerializableConfiguration;

/** What one task does: each of its rows past every output. */
record TeeTask(List<Output> outputs, SerializableConfiguration settings)
    implements FlatMapFunction<Iterator<InternalRow>, NewFile> {

  @Override
  public Iterator<NewFile> call(Iterator<InternalRow> rows) throws IOException {
    try (Room room = new Room(settings.value())) {
      return writeAll(rows, room);
    }
  }

  private Iterator<NewFile> writeAll(Iterator<InternalRow> rows, Room room) throws IOException {
    List<TaskWriter> writers =
        outputs.stream().map(one -> new TaskWriter(one, settings.value(), room)).toList();
    try {
      return writeAll(rows, writers);
    } catch (Throwable failure) {
      writers.forEach(TaskWriter::discard);
      throw failure;
    }
  }

  private static Iterator<NewFile> writeAll(Iterator<InternalRow> rows, List<TaskWriter> writers)
      throws IOException {
    while (rows.hasNext()) {
      UnsafeRow row = (UnsafeRow) rows.next();
      for (TaskWriter writer : writers) {
        writer.write(row);
      }
    }
    List<NewFile> written = new ArrayList<>();
    for (TaskWriter writer : writers) {
      written.addAll(writer.close());
    }
    return written.iterator();
  }
}
