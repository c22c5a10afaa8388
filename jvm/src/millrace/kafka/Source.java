package millrace.kafka;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's Kafka source, with its options, offsets and plans, but for how a task reads its span.
 *
 * <p>Spark's tasks ask the broker for both ends of a partition after every fetch, behind the next
 * fetch's megabytes, so that they and the broker take turns; and they copy each record once more.
 */
public final class Source implements TableProvider {
  private static final long PREFETCH_BYTES = 64 << 20;

  private final KafkaSourceProvider spark = new KafkaSourceProvider();

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return spark.getTable(options).schema();
  }

  @Override
  public Table getTable(StructType schema, Transform[] parts, Map<String, String> options) {
    CaseInsensitiveStringMap all = new CaseInsensitiveStringMap(options);
    if (!all.getBoolean("failOnDataLoss", true) || !all.getBoolean("includeHeaders", false)) {
      throw new IllegalArgumentException("records are read whole: with headers, and none skipped");
    }
    return new Topics(spark.getTable(all));
  }

  private record Topics(SupportsRead spark) implements SupportsRead {
    @Override
    public String name() {
      return spark.name();
    }

    @Override
    @SuppressWarnings("deprecation") // there is no other way to say it yet
    public StructType schema() {
      return spark.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () ->
          new Records(
              spark.newScanBuilder(options).build(),
              pace(options),
              prefetch(options),
              options.get("turn"));
    }
  }

  private static Duration pace(CaseInsensitiveStringMap options) {
    return Duration.ofMillis(options.getLong("paceMs", 0));
  }

  private static long prefetch(CaseInsensitiveStringMap options) {
    return options.getLong("prefetchBytes", PREFETCH_BYTES);
  }

  private record Records(Scan spark, Duration pace, long prefetch, String turn) implements Scan {
    @Override
    public StructType readSchema() {
      return spark.readSchema();
    }

    @Override
    public Batch toBatch() {
      return new Once(spark.toBatch(), prefetch);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new Stream(spark.toMicroBatchStream(checkpoint), pace, prefetch, Turn.of(turn));
    }
  }

  private record Once(Batch spark, long prefetch) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      return spark.planInputPartitions();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      long each = Prefetch.each(prefetch, planInputPartitions().length, Long.MAX_VALUE);
      return new SpanReaders(each, null);
    }
  }
}
