package millrace.logstore;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import millrace.fs.Durable;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * The data files that a commit names, for the first time, in a folder of this machine; and the
 * files that say which of their rows are deleted.
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
    for (Path file : files(table, commit)) {
      Durable.sync(file);
      for (Path at = file.getParent(); at.startsWith(table); at = at.getParent()) {
        folders.add(at);
      }
    }
    for (Path folder : folders) {
      Durable.sync(folder);
    }
  }

  /** Several data files may share a file of deletion vectors. */
  private static Set<Path> files(Path table, String commit) throws IOException {
    Set<Path> files = new LinkedHashSet<>();
    for (String line : commit.split("\n")) {
      if (line.startsWith("{\"add\":") || line.startsWith("{\"cdc\":")) {
        JsonNode file = JSON.readTree(line).elements().next();
        files.add(table.resolve(URI.create(file.get("path").asText()).getPath()));
        if (file.hasNonNull("deletionVector")) {
          deletionVector(table, line).ifPresent(files::add);
        }
      }
    }
    return files;
  }

  /** Empty where it stands in the commit itself. */
  private static Optional<Path> deletionVector(Path table, String line) {
    AddFile file = (AddFile) Action$.MODULE$.fromJson(line);
    if (!file.deletionVector().isOnDisk()) {
      return Optional.empty();
    }
    org.apache.hadoop.fs.Path root = new org.apache.hadoop.fs.Path(table.toUri());
    return Optional.of(Path.of(file.deletionVector().absolutePath(root).toUri().getPath()));
  }
}
