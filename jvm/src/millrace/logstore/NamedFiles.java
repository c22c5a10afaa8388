package millrace.logstore;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;
import millrace.fs.Durable;

/**
 * The data files that a commit names, for the first time, in a folder of this machine.
 *
 * <p>Spark writes them without a sync. After a power cut a version would name files that are not
 * whole, and a batch that the table says it has would be gone.
 */
final class NamedFiles {
  private static final Pattern COMMIT = Pattern.compile("\\d{20}\\.json");
  private static final ObjectMapper JSON = new ObjectMapper();

  private NamedFiles() {}

  /** Files first, then the folders that lead to them. */
  static void sync(Path version, String commit) throws IOException {
    if (!COMMIT.matcher(version.getFileName().toString()).matches()) {
      return;
    }
    Path table = version.getParent().getParent();
    Set<Path> folders = new LinkedHashSet<>();
    for (String line : commit.split("\n")) {
      if (line.startsWith("{\"add\":") || line.startsWith("{\"cdc\":")) {
        Path file = place(table, JSON.readTree(line).elements().next());
        Durable.sync(file);
        for (Path at = file.getParent(); at.startsWith(table); at = at.getParent()) {
          folders.add(at);
        }
      }
    }
    for (Path folder : folders) {
      Durable.sync(folder);
    }
  }

  private static Path place(Path table, JsonNode file) {
    return table.resolve(URI.create(file.get("path").asText()).getPath());
  }
}
