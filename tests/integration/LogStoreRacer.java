import io.delta.storage.LogStore;
import java.io.FileReader;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.Properties;
import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * One of several JVMs that want the same versions of one log at the same moments.
 *
 * <p>CLASS LOG NAME VERSIONS SLOT_MS SETTINGS: says `ready`, is told on its input when to begin, and says of each
 * version `acked`, `refused` or `failed`.
 */
public final class LogStoreRacer {
  public static void main(String[] words) throws Exception {
    Configuration settings = read(words[5]);
    LogStore store =
        (LogStore) Class.forName(words[0]).getConstructor(Configuration.class).newInstance(settings);
    Path log = new Path(words[1]);
    String name = words[2];
    long slotMs = Long.parseLong(words[4]);
    for (int warm = 0; warm < 20; warm++) {
      Path own = new Path(log, String.format("_warm-%s-%d.json", name, warm));
      store.write(own, List.of("warm").iterator(), true, settings);
    }
    System.out.println("ready");
    long begin = new Scanner(System.in).nextLong();
    for (long version = 0; version < Long.parseLong(words[3]); version++) {
      Thread.sleep(Math.max(0, begin + version * slotMs - System.currentTimeMillis()));
      System.out.println(tryToWrite(store, log, name, version, settings));
    }
  }

  private static String tryToWrite(
      LogStore store, Path log, String name, long version, Configuration settings) {
    Path place = new Path(log, String.format("%020d.json", version));
    List<String> lines = List.of("{\"by\":\"" + name + "\"}", "{\"x\":\"" + "y".repeat(400) + "\"}");
    long began = System.nanoTime();
    try {
      store.write(place, lines.iterator(), false, settings);
    } catch (FileAlreadyExistsException taken) {
      return "refused " + version;
    } catch (Exception error) {
      return "failed " + version + " " + error;
    }
    return "acked " + version + " " + (System.nanoTime() - began) / 1_000;
  }

  private static Configuration read(String file) throws Exception {
    Properties given = new Properties();
    try (FileReader reader = new FileReader(file)) {
      given.load(reader);
    }
    Configuration settings = new Configuration();
    given.forEach((key, value) -> settings.set((String) key, (String) value));
    return settings;
  }
}
