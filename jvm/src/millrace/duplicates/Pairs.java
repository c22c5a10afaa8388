package millrace.duplicates;

import java.util.Arrays;
import java.util.stream.LongStream;
import org.roaringbitmap.longlong.LongIterator;
import org.roaringbitmap.longlong.Roaring64Bitmap;

/** Sets of numbers as the firsts and lasts of their ranges, in order. */
final class Pairs {
  static final long[] NONE = {};

  private Pairs() {}

  static boolean hold(long[] pairs, long number) {
    if (pairs.length == 0 || number > pairs[pairs.length - 1]) {
      return false;
    }
    int place = Arrays.binarySearch(pairs, number);
    // A bound itself, or between a first and its last.
    return place >= 0 || (-place - 1) % 2 == 1;
  }

  static long[] of(Roaring64Bitmap numbers) {
    if (numbers.isEmpty()) {
      return NONE;
    }
    LongStream.Builder pairs = LongStream.builder();
    LongIterator rest = numbers.getLongIterator();
    long last = rest.next();
    pairs.add(last);
    while (rest.hasNext()) {
      long number = rest.next();
      if (number != last + 1) {
        pairs.add(last).add(number);
      }
      last = number;
    }
    return pairs.add(last).build().toArray();
  }
}
