package millrace.logstore;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;
import millrace.fs.Durable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Tables in a folder, with several writers: spark.delta.logStore.file.impl.
 *
 * <p>Delta's own looks whether a version is there and then renames onto it, which is safe within
 * one JVM only. Here a version is a hard link, which the system makes only where nothing is; so
 * does delta-rs.
 */
public final class LocalLogStore extends HadoopFileSystemLogStore {
  public LocalLogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> lines, Boolean overwrite, Configuration settings)
      throws IOException {
    java.nio.file.Path place = java.nio.file.Path.of(path.toUri().getPath());
    java.nio.file.Path draft = draftBeside(place);
    try {
      byte[] text = Lines.joined(lines);
      NamedFiles.sync(place, new String(text, StandardCharsets.UTF_8));
      writeText(draft, text);
      if (overwrite) {
        Files.move(draft, place, StandardCopyOption.ATOMIC_MOVE);
      } else {
        link(draft, place);
      }
      Durable.sync(place.getParent());
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  /**
   * Each commit lists the log. Delta's own asks for the status of every file in it, and a day
   * leaves a hundred thousand of them and more; here only those are asked for that are wanted.
   */
  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration settings) throws IOException {
    FileSystem files = path.getFileSystem(settings);
    List<FileStatus> found = new ArrayList<>();
    for (String name : namesFrom(path)) {
      try {
        found.add(files.getFileStatus(new Path(path.getParent(), name)));
      } catch (FileNotFoundException removed) {
        // The log is cleaned all the while.
      }
    }
    return found.iterator();
  }

  private static SortedSet<String> namesFrom(Path path) throws IOException {
    SortedSet<String> names = new TreeSet<>();
    java.nio.file.Path folder = java.nio.file.Path.of(path.getParent().toUri().getPath());
    try (DirectoryStream<java.nio.file.Path> entries = Files.newDirectoryStream(folder)) {
      for (java.nio.file.Path entry : entries) {
        String name = entry.getFileName().toString();
        if (name.compareTo(path.getName()) >= 0) {
          names.add(name);
        }
      }
    } catch (NoSuchFileException missing) {
      throw new FileNotFoundException("there is no folder " + folder);
    }
    return names;
  }

  /** Parquet checkpoints are written by others, who have to rename them into place. */
  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration settings) {
    return true;
  }

  /** The dot sorts it before all versions and hides it from whoever lists them. */
  private static java.nio.file.Path draftBeside(java.nio.file.Path place) {
    return place.resolveSibling("." + place.getFileName() + "." + UUID.randomUUID() + ".tmp");
  }

  private static void writeText(java.nio.file.Path draft, byte[] text) throws IOException {
    try (FileChannel file =
            FileChannel.open(draft, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        OutputStream out = Channels.newOutputStream(file)) {
      out.write(text);
      file.force(true);
    }
  }

  private static void link(java.nio.file.Path draft, java.nio.file.Path place) throws IOException {
    try {
      Files.createLink(place, draft);
    } catch (FileAlreadyExistsException taken) {
      throw taken;
    } catch (UnsupportedOperationException | FileSystemException error) {
      throw new IOException(
          place
              + " could not be linked into place; if this file system knows no hard links, it cannot"
              + " hold a table with several writers: use ext4, xfs, APFS or a bucket",
          error);
    }
  }
}
