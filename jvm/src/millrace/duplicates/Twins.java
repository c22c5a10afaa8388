package millrace.duplicates;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import millrace.refine.Call;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.DataType;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/**
 * Which messages of a batch came before, in it or in an earlier one.
 *
 * <p>Each task knows what was seen before the batch, and adds what it sees itself. It meets the
 * messages of a partition in their order, so of two it is the second that is the twin.
 */
public final class Twins implements Serializable {
  private static final DataType HEADERS =
      DataType.fromDDL("array<struct<key:string,value:binary>>");
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, long[]> before;
  private final Seen seen = new Seen();
  // Of the message before: nearly all of a task's messages have the same sender.
  private transient Sender latest;
  private transient long[] latestBefore;
  private transient Roaring64Bitmap latestSeen;

  /** `before`: as {@link #seen()} gives it. */
  public Twins(SparkSession session, String before) throws JsonProcessingException {
    this.before = JSON.readValue(before, new TypeReference<>() {});
    session.sparkContext().register(seen);
  }

  public Column isTwin(Column headers) {
    return Call.of(
        this,
        "isTwin",
        BooleanType$.MODULE$,
        List.of(ExpressionUtils.expression(headers)),
        List.of(HEADERS));
  }

  public boolean isTwin(ArrayData headers) {
    long number = headers == null ? Sender.NONE : Sender.numberIn(headers);
    Sender sender = number == Sender.NONE ? null : Sender.of(headers);
    if (sender == null) {
      return false;
    }
    if (!sender.equals(latest)) {
      turnTo(sender);
    }
    if (Pairs.hold(latestBefore, number) || latestSeen.contains(number)) {
      return true;
    }
    latestSeen.addLong(number);
    return false;
  }

  /** What the batch brought: for each sender first, last, first, last, and so on, as JSON. */
  public String seen() throws JsonProcessingException {
    Map<String, long[]> pairs = new HashMap<>();
    seen.value().forEach((sender, numbers) -> pairs.put(sender, Pairs.of(numbers)));
    return JSON.writeValueAsString(pairs);
  }

  /** Whether two tasks took the same number of a sender for the first of it. */
  public boolean areAtOdds() {
    return seen.isDoubled();
  }

  private void turnTo(Sender sender) {
    String name = sender.name();
    latestBefore = before.getOrDefault(name, Pairs.NONE);
    latestSeen = seen.of(name);
    latest = sender.copy();
  }
}
