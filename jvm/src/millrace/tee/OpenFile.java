package millrace.tee;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** A data file of one table and one day while it is written. */
final class OpenFile {
  private final Output output;
  private final String day;
  private final String name;
  private final Path path;
  private final Configuration settings;
  private final RowGroups groups;

  OpenFile(Output output, String day, String name, Configuration settings, Room room)
      throws IOException {
    this.output = output;
    this.day = day;
    this.name = Output.folder(day) + name;
    this.path = new Path(output.table(), this.name);
    this.settings = settings;
    this.groups = new RowGroups(path, output, settings, room);
  }

  void write(UnsafeRow row) throws IOException {
    groups.write(row);
  }

  NewFile close() throws IOException {
    ParquetMetadata footer = groups.close();
    FileStatus status = fileSystem().getFileStatus(path);
    return new NewFile(
        output.number(),
        this.name,
        day,
        status.getLen(),
        status.getModificationTime(),
        FooterStats.rows(footer),
        FooterStats.json(footer, output.counted(), output.exact()));
  }

  /** After a failure: no commit will ever name it. */
  void discard() {
    try {
      groups.release();
    } catch (IOException unfinished) {
      // It is deleted all the same, and the failure itself is told by whoever saw it.
    }
    try {
      fileSystem().delete(path, false);
    } catch (IOException stays) {
      // Vacuum finds it.
    }
  }

  private FileSystem fileSystem() throws IOException {
    return path.getFileSystem(settings);
  }
}
