package millrace.delta;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;

/**
 * Batches of several writers, in as few commits of their table as may be.
 *
 * <p>A batch that comes while no commit is under way is committed at once. Those that come meanwhile
 * wait, and go into the next commit together: nobody waits for company. What a commit is, and when a
 * batch may be in it, is the table's to say.
 */
public final class Groups<E extends Groups.Entry> {
  /** A batch that waits for its answer. */
  public interface Entry {
    String writer();

    void done();

    void failed(Throwable why);
  }

  public interface Table<E> {
    /** What is committed in this attempt rests on the table as it is now. */
    Attempt<E> begin(List<E> group);
  }

  public interface Attempt<E> {
    /** Fails where this batch cannot be in the commit, whatever else is in it. */
    void judge(E entry);

    /** All of them, or none. */
    void commit(List<E> entries);
  }

  private final Table<E> table;
  private final Executor thread;
  private List<E> waiting = new ArrayList<>();
  private boolean isUnderWay;

  public Groups(Table<E> table, Executor thread) {
    this.table = table;
    this.thread = thread;
  }

  /** Returns at once; each entry is told when it is done or has failed. */
  public synchronized void add(List<E> entries) {
    waiting.addAll(entries);
    if (isUnderWay) {
      return;
    }
    isUnderWay = true;
    try {
      thread.execute(this::commitAll);
    } catch (Throwable failure) {
      isUnderWay = false;
      waiting.subList(waiting.size() - entries.size(), waiting.size()).clear();
      throw failure;
    }
  }

  /** For an entry that nobody waits for any more; what is in a commit already stays in it. */
  public synchronized void withdraw(E entry) {
    waiting.remove(entry);
  }

  private void commitAll() {
    for (List<E> group = next(); !group.isEmpty(); group = next()) {
      answer(group);
    }
  }

  /** All that wait, but of each writer the first alone: a version has one number of a writer. */
  private synchronized List<E> next() {
    Set<String> writers = new HashSet<>();
    List<E> group = new ArrayList<>();
    List<E> later = new ArrayList<>();
    for (E entry : waiting) {
      (writers.add(entry.writer()) ? group : later).add(entry);
    }
    waiting = later;
    isUnderWay = !group.isEmpty();
    return group;
  }

  /**
   * Where a commit of several fails, each half is tried for itself, from the beginning: a batch that
   * can be in no commit fails alone in the end, at the cost of few commits more.
   */
  private void answer(List<E> group) {
    List<E> good = new ArrayList<>();
    try {
      Attempt<E> attempt = table.begin(group);
      group.stream().filter(entry -> isGood(attempt, entry)).forEach(good::add);
      if (!good.isEmpty()) {
        attempt.commit(List.copyOf(good));
      }
    } catch (Throwable failure) {
      if (good.size() > 1) {
        answer(good.subList(0, good.size() / 2));
        answer(good.subList(good.size() / 2, good.size()));
      } else {
        // Without a good one, not even the table could be looked at.
        (good.isEmpty() ? group : good).forEach(entry -> entry.failed(failure));
      }
      return;
    }
    good.forEach(Entry::done);
  }

  private boolean isGood(Attempt<E> attempt, E entry) {
    try {
      attempt.judge(entry);
      return true;
    } catch (Throwable failure) {
      entry.failed(failure);
      return false;
    }
  }
}
