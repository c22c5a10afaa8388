package millrace.fs;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;

/** Checkpoints: spark.hadoop.fs.AbstractFileSystem.file.impl. */
public final class LocalContext extends DelegateToFileSystem {
  public LocalContext(URI uri, Configuration settings) throws IOException, URISyntaxException {
    super(FsConstants.LOCAL_FS_URI, new JdkPermissions(), settings, "file", false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  @Override
  public boolean isValidName(String name) {
    return true;
  }
}
