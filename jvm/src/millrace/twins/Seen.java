package millrace.twins;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/** The numbers that a task saw, by sender; the driver gets those of all tasks that ended well. */
final class Seen extends AccumulatorV2<Seen.Message, Map<String, Roaring64Bitmap>> {
  private final Map<String, Roaring64Bitmap> bySender = new HashMap<>();

  record Message(String sender, long number) {}

  Roaring64Bitmap of(String sender) {
    return bySender.computeIfAbsent(sender, any -> new Roaring64Bitmap());
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
  }

  @Override
  public void merge(AccumulatorV2<Message, Map<String, Roaring64Bitmap>> other) {
    other.value().forEach((sender, numbers) -> of(sender).or(numbers));
  }

  @Override
  public Map<String, Roaring64Bitmap> value() {
    return bySender;
  }
}
