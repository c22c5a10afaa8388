package millrace.tee;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.OutputWriter;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;

/** A data file of one table and one day while it is written. */
final class OpenFile {
  private final Output output;
  private final String day;
  private final String name;
  private final Path path;
  private final Configuration settings;
  private final OutputWriter writer;

  OpenFile(
      Output output, String day, String name, OutputWriterFactory files, TaskAttemptContext task) {
    this.output = output;
    this.day = day;
    this.name = Output.folder(day) + name + files.getFileExtension(task);
    this.path = new Path(output.table(), this.name);
    this.settings = task.getConfiguration();
    this.writer = files.newInstance(path.toString(), output.schema(), task);
  }

  void write(InternalRow row) {
    writer.write(row);
  }

  NewFile close() throws IOException {
    writer.close();
    FileStatus status = fileSystem().getFileStatus(path);
    ParquetMetadata footer = footer(status);
    return new NewFile(
        output.number(),
        this.name,
        day,
        status.getLen(),
        status.getModificationTime(),
        FooterStats.rows(footer),
        FooterStats.json(footer, output.counted()));
  }

  /** After a failure: no commit will ever name it. */
  void discard() {
    try {
      writer.close();
    } catch (Throwable unfinished) {
      // It is deleted all the same, and the failure itself is told by whoever saw it. Scala's
      // writers throw what they do not declare.
    }
    try {
      fileSystem().delete(path, false);
    } catch (IOException stays) {
      // Vacuum finds it.
    }
  }

  private ParquetMetadata footer(FileStatus status) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(HadoopInputFile.fromStatus(status, settings))) {
      return reader.getFooter();
    }
  }

  private FileSystem fileSystem() throws IOException {
    return path.getFileSystem(settings);
  }
}
