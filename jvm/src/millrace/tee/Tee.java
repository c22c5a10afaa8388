package millrace.tee;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import millrace.delta.Layout;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows into several tables: they are read, decoded and judged once, and each goes into the files of
 * every table that takes it.
 */
public final class Tee {
  private final Dataset<Row> rows;
  private final SparkSession session;
  private final List<Output> outputs = new ArrayList<>();
  private final Map<String, Layout> layouts = new HashMap<>();
  private final Map<Wanted, String> others = new LinkedHashMap<>();

  public Tee(Dataset<Row> rows) {
    this.rows = rows;
    this.session = (SparkSession) rows.sparkSession();
  }

  /** See Wanted; a null for `when` means every row. */
  public void into(String table, List<String> names, List<String> sources, String when) {
    Wanted wanted = new Wanted(table, List.copyOf(names), List.copyOf(sources), when);
    Snapshot now = DeltaLog.forTable(session, new Path(table)).unsafeVolatileSnapshot();
    wanted.mustFit(now.metadata().schema());
    List<String> obstacles = Obstacles.of(now, wanted, rows.schema());
    if (obstacles.isEmpty()) {
      outputs.add(Output.of(outputs.size(), wanted, now, rows.schema()));
      layouts.put(table, Layout.of(now.metadata(), now.protocol()));
    } else {
      others.put(wanted, String.join(", ", obstacles));
    }
  }

  public Written write() {
    QueryExecution plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution();
    // Also where none of the tables is written here: what the rows count is counted on the way.
    List<NewFile> files = writeFiles(plan, task());
    Collection<Row> counts = CollectionConverters.asJavaCollection(plan.observedMetrics().values());
    String observed = counts.stream().map(Row::json).findFirst().orElse("{}");
    List<ByDelta> byDelta = new ArrayList<>();
    others.forEach((wanted, why) -> byDelta.add(ByDelta.write(wanted, why, rows)));
    return new Written(session, List.copyOf(outputs), layouts, files, byDelta, observed);
  }

  private static List<NewFile> writeFiles(QueryExecution plan, TeeTask task) {
    return SQLExecution.withNewExecutionId(
        plan,
        Option.apply("millrace"),
        () -> plan.toRdd().toJavaRDD().mapPartitions(task).collect());
  }

  private TeeTask task() {
    SerializableConfiguration settings =
        new SerializableConfiguration(session.sessionState().newHadoopConf());
    return new TeeTask(List.copyOf(outputs), settings);
  }
}
