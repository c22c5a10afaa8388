package millrace.fs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system, asking the JDK for what Hadoop forks a process for.
 *
 * <p>Without Hadoop's native library RawLocalFileSystem runs `chmod` for every file it makes, and
 * `readlink` for every status of a link: dozens of forks for one micro-batch.
 */
public final class JdkPermissions extends RawLocalFileSystem {
  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    String bits =
        permission.getUserAction().SYMBOL
            + permission.getGroupAction().SYMBOL
            + permission.getOtherAction().SYMBOL;
    Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(bits));
  }

  /**
   * Whoever renames means that the file is whole. Without a sync it may be empty after a power cut:
   * a checkpoint that forgot a batch plans it anew with another end, and the table, which has that
   * batch, leaves what is new in it out.
   */
  @Override
  public boolean rename(Path from, Path to) throws IOException {
    java.nio.file.Path source = pathToFile(from).toPath();
    // Delta's checksums come with every commit, and are made up for where one is missing.
    boolean isKept = !to.getName().endsWith(".crc") && Files.exists(source);
    if (isKept) {
      Durable.sync(source);
    }
    boolean isDone = super.rename(from, to);
    if (isKept) {
      Durable.sync(pathToFile(to).toPath().toAbsolutePath().getParent());
    }
    return isDone;
  }

  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return getFileStatus(path);
  }
}
