package millrace.tee;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.PrimitiveType;

/**
 * A data file's statistics as Delta's log holds them, out of the file's own footer.
 *
 * <p>Delta counts them row by row while it writes, a tenth of the work; its own reader of footers,
 * made for tables that were Parquet, knows no timestamps.
 */
final class FooterStats {
  private final ObjectNode least = JsonNodeFactory.instance.objectNode();
  private final ObjectNode most = JsonNodeFactory.instance.objectNode();
  private final ObjectNode nulls = JsonNodeFactory.instance.objectNode();

  private FooterStats() {}

  static long rows(ParquetMetadata footer) {
    return footer.getBlocks().stream().mapToLong(BlockMetaData::getRowCount).sum();
  }

  /** `exact` where Delta wants to hear that no row of the file is deleted. */
  static String json(ParquetMetadata footer, Set<String> columns, boolean exact) {
    FooterStats stats = new FooterStats();
    columns.forEach(name -> stats.add(name, chunks(footer, name)));
    ObjectNode all = JsonNodeFactory.instance.objectNode().put("numRecords", rows(footer));
    all.set("minValues", stats.least);
    all.set("maxValues", stats.most);
    all.set("nullCount", stats.nulls);
    if (exact) {
      all.put("tightBounds", true);
    }
    return all.toString();
  }

  /** One for each row group. */
  private static List<ColumnChunkMetaData> chunks(ParquetMetadata footer, String name) {
    return footer.getBlocks().stream()
        .flatMap(block -> block.getColumns().stream())
        .filter(chunk -> chunk.getPath().size() == 1 && chunk.getPath().toArray()[0].equals(name))
        .toList();
  }

  private void add(String name, List<ColumnChunkMetaData> chunks) {
    if (chunks.isEmpty()) {
      return;
    }
    Statistics<?> all = chunks.get(0).getStatistics().copy();
    chunks.stream().skip(1).forEach(chunk -> all.mergeStatistics(chunk.getStatistics()));
    // Else it is -1, and a reader that takes it at its word finds no nulls in this file.
    if (chunks.stream().allMatch(chunk -> chunk.getStatistics().isNumNullsSet())) {
      nulls.put(name, all.getNumNulls());
    }
    if (all.hasNonNullValue() && chunks.stream().allMatch(FooterStats::isBounded)) {
      PrimitiveType type = chunks.get(0).getPrimitiveType();
      Bound.LEAST.put(least, name, type, all.genericGetMin());
      Bound.MOST.put(most, name, type, all.genericGetMax());
    }
  }

  /** Parquet leaves the bounds out where there is a NaN, or where they are very long. */
  private static boolean isBounded(ColumnChunkMetaData chunk) {
    Statistics<?> stats = chunk.getStatistics();
    return stats.hasNonNullValue() || stats.getNumNulls() == chunk.getValueCount();
  }
}
