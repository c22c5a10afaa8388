package millrace.kafka;

import java.time.Duration;
import java.util.Map;
import org.apache.commons.pool2.BaseKeyedPooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericKeyedObjectPool;
import org.apache.commons.pool2.impl.GenericKeyedObjectPoolConfig;
import org.apache.kafka.common.TopicPartition;

/**
 * Consumers that stay connected from batch to batch: so many in a JVM. Beyond them those that were
 * idle longest are closed, and their partitions are connected to anew with the next batch.
 */
final class Consumers {
  private static final int MOST = 512;
  private static final Duration IDLE_FOR = Duration.ofMinutes(5);
  // Each task holds one at a time, so there are as many in use as cores.
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final GenericKeyedObjectPool<Key, OpenPartition> POOL =
      new GenericKeyedObjectPool<>(new Factory(), config());

  private Consumers() {}

  record Key(TopicPartition part, Map<String, Object> settings) {}

  static OpenPartition borrow(Key key) {
    try {
      return POOL.borrowObject(key);
    } catch (RuntimeException cause) {
      throw cause;
    } catch (Exception cause) {
      throw new IllegalStateException(cause);
    }
  }

  static void giveBack(Key key, OpenPartition open) {
    POOL.returnObject(key, open);
  }

  static void discard(Key key, OpenPartition open) {
    try {
      POOL.invalidateObject(key, open);
    } catch (Exception closed) {
      // Whatever made it useless is told already.
    }
  }

  private static GenericKeyedObjectPoolConfig<OpenPartition> config() {
    GenericKeyedObjectPoolConfig<OpenPartition> config = new GenericKeyedObjectPoolConfig<>();
    config.setMaxIdlePerKey(1);
    config.setMaxTotalPerKey(-1);
    config.setMaxTotal(MOST);
    config.setMaxWait(PATIENCE);
    config.setMinEvictableIdleDuration(IDLE_FOR);
    config.setTimeBetweenEvictionRuns(IDLE_FOR.dividedBy(5));
    config.setJmxEnabled(false);
    return config;
  }

  private static final class Factory extends BaseKeyedPooledObjectFactory<Key, OpenPartition> {
    @Override
    public OpenPartition create(Key key) {
      return new OpenPartition(key.part(), key.settings());
    }

    @Override
    public PooledObject<OpenPartition> wrap(OpenPartition open) {
      return new DefaultPooledObject<>(open);
    }

    @Override
    public void destroyObject(Key key, PooledObject<OpenPartition> open) {
      open.getObject().close();
    }
  }
}
