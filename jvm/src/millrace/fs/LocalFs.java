package millrace.fs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;

/**
 * Tables: spark.hadoop.fs.file.impl.
 *
 * <p>Without checksum files: a process killed between a file and its checksum leaves a pair that
 * does not fit, and the file cannot be read. Parquet pages and Delta's log are checked by others.
 */
public final class LocalFs extends LocalFileSystem {
  public LocalFs() {
    super(new JdkPermissions());
  }

  @Override
  public void initialize(URI name, Configuration settings) throws IOException {
    super.initialize(name, settings);
    setWriteChecksum(false);
    setVerifyChecksum(false);
  }
}
