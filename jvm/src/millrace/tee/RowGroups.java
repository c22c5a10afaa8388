package millrace.tee;

import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnWriteStore;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.hadoop.ColumnChunkPageWriteStore;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * A Parquet file: rows into columns, and columns into row groups.
 *
 * <p>Spark's writer hands each value through four layers that find out anew, for every row, how its
 * type is nested; here that is known when the file is opened.
 */
final class RowGroups {
  private final Output output;
  private final MessageType schema;
  private final ParquetProperties properties;
  private final Room room;
  private final ParquetFileWriter file;
  private ColumnChunkPageWriteStore pages;
  private ColumnWriteStore columns;
  private Cell[] cells;
  private long rows;

  RowGroups(Path path, Output output, Configuration settings, Room room) throws IOException {
    this.output = output;
    this.properties = output.properties();
    this.schema = schemaOf(output.schema());
    this.room = room;
    this.file =
        new ParquetFileWriter(
            HadoopOutputFile.fromPath(path, settings),
            schema,
            ParquetFileWriter.Mode.CREATE,
            ParquetWriter.DEFAULT_BLOCK_SIZE,
            ParquetWriter.MAX_PADDING_SIZE_DEFAULT,
            null,
            properties);
    file.start();
    begin();
    room.enter(this);
  }

  private static MessageType schemaOf(StructType row) {
    var micros = SQLConf.ParquetOutputTimestampType$.MODULE$.TIMESTAMP_MICROS();
    return new SparkToParquetSchemaConverter(false, micros, false, false).convert(row);
  }

  void write(UnsafeRow from) throws IOException {
    for (int one = 0; one < cells.length; one++) {
      cells[one].write(from, output.ordinals()[one], 0, 0);
    }
    columns.endRecord();
    rows++;
    room.wrote(from.getSizeInBytes());
  }

  long heldBytes() {
    return columns.getBufferedSize();
  }

  /** What is held goes into the file; a next row begins a row group. */
  void endGroup() throws IOException {
    end();
    begin();
  }

  ParquetMetadata close() throws IOException {
    end();
    // By these Spark knows how to read what is in it.
    file.end(
        Map.of(
            org.apache.spark.sql.package$.MODULE$.SPARK_VERSION_METADATA_KEY(),
            org.apache.spark.package$.MODULE$.SPARK_VERSION_SHORT(),
            ParquetReadSupport.SPARK_METADATA_KEY(),
            output.schema().json()));
    release();
    return file.getFooter();
  }

  void release() throws IOException {
    room.leave(this);
    file.close();
  }

  private void begin() {
    pages =
        new ColumnChunkPageWriteStore(
            room.codecs().getCompressor(CompressionCodecName.SNAPPY),
            schema,
            new HeapByteBufferAllocator(),
            properties.getColumnIndexTruncateLength());
    columns = properties.newColumnWriteStore(schema, pages);
    cells = new Cells(schema, columns).of(output.schema());
    rows = 0;
  }

  private void end() throws IOException {
    if (rows > 0) {
      file.startBlock(rows);
      columns.flush();
      pages.flushToFileWriter(file);
      file.endBlock();
    }
    columns.close();
    pages.close();
  }
}
