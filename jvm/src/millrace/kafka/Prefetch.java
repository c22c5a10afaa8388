package millrace.kafka;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * How much a consumer fetches ahead, so that all of a job's together stay within a bound: each keeps
 * what it fetched last from batch to batch. A record that is larger still comes, alone.
 */
public final class Prefetch {
  private static final long LEAST = 64 << 10;

  private Prefetch() {}

  /** `all`: for the consumers of all partitions together; `wished`: for each, where there is room. */
  public static long each(long all, int partitions, long wished) {
    return Math.min(wished, Math.max(LEAST, all / Math.max(1, partitions)));
  }

  static Map<String, Object> within(long each, Map<String, Object> settings) {
    Object wished = settings.get(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG);
    Map<String, Object> own = new HashMap<>(settings);
    long bytes = wished == null ? each : Math.min(each, Long.parseLong(wished.toString()));
    own.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, Long.toString(bytes));
    return own;
  }
}
