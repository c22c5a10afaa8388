package millrace.tee;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
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

  public Tee(Dataset<Row> rows) {
    this.rows = rows;
    this.session = (SparkSession) rows.sparkSession();
  }

  /** See Output; a null for `when` means every row. */
  public void into(String table, List<String> names, List<String> sources, String when) {
    DeltaLog log = DeltaLog.forTable(session, new Path(table));
    outputs.add(Output.of(outputs.size(), table, log, rows.schema(), names, sources, when));
  }

  public Written write() {
    QueryExecution plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution();
    List<NewFile> files = writeFiles(plan, task());
    Collection<Row> counts = CollectionConverters.asJavaCollection(plan.observedMetrics().values());
    String observed = counts.stream().map(Row::json).findFirst().orElse("{}");
    return new Written(session, List.copyOf(outputs), files, observed);
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
