package millrace.delta;

import io.delta.exceptions.MetadataChangedException;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * What the files of a table depend on: its columns, partitions, properties and features.
 *
 * <p>Files that were written for one layout are no files of another. Delta compares a transaction
 * with the versions since it began, and a commit of files that are there already begins after them.
 */
public record Layout(
    String id,
    String columns,
    Seq<String> partitions,
    Map<String, String> properties,
    Protocol protocol) {

  public static Layout of(Metadata table, Protocol protocol) {
    return new Layout(
        table.id(),
        table.schemaString(),
        table.partitionColumns(),
        table.configuration(),
        protocol);
  }

  void mustBe(Layout now, String table) {
    if (!equals(now)) {
      throw new MetadataChangedException(
          table
              + " has other columns, properties or features than when this batch was written for"
              + " it; the batch has to be written again");
    }
  }
}
