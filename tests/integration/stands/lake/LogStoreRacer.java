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
 * <p>CLASS LOG NAME SETTINGS: for each line of its input the next version; says `acked`, `refused` or
 * `failed` of it.
 */
public final class LogStoreRacer {
  public static void main(String[] words) throws Exception {
    Configuration settings = read(words[3]);
    LogStore store =
        (LogStore) Class.forName(words[0]).getConstructor(Configuration.class).newInstance(settings);
    Path log = new Path(words[1]);
    String name = words[2];
    store.write(new Path(log, "warm-" + name), List.of("warm").iterator(), true, settings);
    System.out.println("ready");
    Scanner starts = new Scanner(System.in);
    for (long version = 0; starts.hasNextLine(); version++) {
      starts.nextLine();
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
      return "refused " + version + " " + (System.nanoTime() - began) / 1_000;
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
