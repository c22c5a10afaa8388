package millrace.kafka;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;

/** Sent to the executors: what they read the spans with. `count` null: nobody asks for it. */
record SpanReaders(long fetchBytes, Turn.Count count) implements PartitionReaderFactory {
  @Override
  public PartitionReader<InternalRow> createReader(InputPartition span) {
    return new SpanReader((KafkaBatchInputPartition) span, fetchBytes, count);
  }
}
