package millrace.logstore;

import static org.apache.hadoop.fs.Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.AWSServiceIOException;

/**
 * Tables in a bucket, with several writers: spark.delta.logStore.s3a.impl.
 *
 * <p>Delta's own looks whether a version is there and then puts it, over whatever came between.
 * Here the put itself carries "If-None-Match: *", so that the store refuses the second.
 */
public final class S3LogStore extends S3SingleDriverLogStore {
  private static final int CONFLICT = 409;
  private static final int ATTEMPTS = 10;
  private static final long FIRST_PAUSE_MS = 20;

  public S3LogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> lines, Boolean overwrite, Configuration settings)
      throws IOException {
    if (overwrite) {
      super.write(path, lines, true, settings);
    } else {
      putNew(path.getFileSystem(settings), path, Lines.joined(lines));
    }
  }

  private static void putNew(FileSystem store, Path path, byte[] body) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        put(store, path, body);
        return;
      } catch (IOException refused) {
        if (isThere(store, path, body, refused)) {
          return;
        }
        // Another put of the same name is under way, and may yet fail.
        if (!isConflict(refused) || attempt == ATTEMPTS) {
          throw refused;
        }
        pause(attempt);
      }
    }
  }

  private static void put(FileSystem store, Path path, byte[] body) throws IOException {
    FSDataOutputStreamBuilder<?, ?> file = store.createFile(path).recursive();
    file.overwrite(true); // no look beforehand: the put is what decides
    file.must(FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
    FSDataOutputStream out = (FSDataOutputStream) file.build();
    try {
      out.write(body);
    } catch (IOException error) {
      out.abort(); // closing would put what there is
      throw error;
    }
    out.close();
  }

  /**
   * Whether our bytes arrived after all, their answer lost on the way: asked again, the store
   * refuses what it has. A commit's bytes are its own, for they hold the transaction's id.
   */
  private static boolean isThere(FileSystem store, Path path, byte[] body, IOException refused)
      throws IOException {
    try (FSDataInputStream in = store.open(path)) {
      if (Arrays.equals(in.readAllBytes(), body)) {
        return true;
      }
    } catch (FileNotFoundException nothing) {
      return false;
    } catch (IOException unreadable) {
      refused.addSuppressed(unreadable);
      throw refused;
    }
    throw (IOException) new FileAlreadyExistsException(path.toString()).initCause(refused);
  }

  private static boolean isConflict(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof AWSServiceIOException answer && answer.statusCode() == CONFLICT) {
        return true;
      }
    }
    return false;
  }

  private static void pause(int attempt) throws InterruptedIOException {
    try {
      Thread.sleep(FIRST_PAUSE_MS << Math.min(attempt, 6));
    } catch (InterruptedException asked) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting to commit again");
    }
  }
}
