package millrace.tee;

import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** A data file that a task has written, and no commit names yet. */
record NewFile(
    int output, String path, String day, long size, long modifiedAt, long rows, String stats)
    implements Serializable {

  AddFile action() {
    scala.collection.immutable.Map<String, String> partition =
        scala.collection.immutable.Map.from(CollectionConverters.asScala(Map.of("day", day)));
    return new AddFile(
        path,
        partition,
        size,
        modifiedAt,
        true,
        stats,
        Map$.MODULE$.empty(),
        null,
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }
}
