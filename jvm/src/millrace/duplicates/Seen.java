package millrace.duplicates;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/** The numbers that a task saw, by sender; the driver gets those of all tasks that ended well. */
final class Seen extends AccumulatorV2<Seen.Message, Map<String, Roaring64Bitmap>> {
  private static final int NONE = -1;

  private final Map<String, Roaring64Bitmap> bySender = new HashMap<>();
  // How many each pass over the rows took for the first, all of its tasks together; rows are read
  // once more where one of the tables is written by another writer.
  private final Map<Integer, Long> firstsByPass = new HashMap<>();
  private int pass = NONE;

  record Message(String sender, long number) {}

  Roaring64Bitmap of(String sender) {
    TaskContext task = TaskContext.get();
    if (task != null) {
      pass = task.stageId();
    }
    return bySender.computeIfAbsent(sender, any -> new Roaring64Bitmap());
  }

  boolean isDoubled() {
    long known = count(bySender);
    return firstsByPass.values().stream().anyMatch(firsts -> firsts > known);
  }

  private static long count(Map<String, Roaring64Bitmap> bySender) {
    return bySender.values().stream().mapToLong(Roaring64Bitmap::getLongCardinality).sum();
  }

  private void addFirsts(int pass, long firsts) {
    firstsByPass.merge(pass, firsts, Long::sum);
  }

  @Override
  public void add(Message message) {
    of(message.sender()).addLong(message.number());
  }

  @Override
  public boolean isZero() {
    return bySender.isEmpty();
  }

  @Override
  public Seen copy() {
    Seen copy = new Seen();
    copy.merge(this);
    return copy;
  }

  @Override
  public void reset() {
    bySender.clear();
    firstsByPass.clear();
  }

  @Override
  public void merge(AccumulatorV2<Message, Map<String, Roaring64Bitmap>> other) {
    Seen seen = (Seen) other;
    seen.bySender.forEach((sender, numbers) -> of(sender).or(numbers));
    seen.firstsByPass.forEach(this::addFirsts);
    if (seen.pass != NONE) {
      addFirsts(seen.pass, count(seen.bySender));
    }
  }

  @Override
  public Map<String, Roaring64Bitmap> value() {
    return bySender;
  }
}
