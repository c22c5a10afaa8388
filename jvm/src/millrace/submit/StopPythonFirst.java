package millrace.submit;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.util.ShutdownHookManager;

/**
 * Where spark-submit starts the job's Python, a TERM reaches the JVM alone. The JVM hands it on and
 * keeps Spark alive until Python has finished its batch; who sent the TERM says how long that may be.
 */
public final class StopPythonFirst {
  // Spark stops its contexts at 50 and lower, EMR Serverless ends queries by itself at 60.
  private static final int BEFORE_SPARK = 100;

  private StopPythonFirst() {}

  public static void install(long pid, long longestSeconds) {
    Runnable hook = () -> ProcessHandle.of(pid).ifPresent(python -> stop(python, longestSeconds));
    ShutdownHookManager.get()
        .addShutdownHook(hook, BEFORE_SPARK, longestSeconds + 1, TimeUnit.SECONDS);
  }

  private static void stop(ProcessHandle python, long longestSeconds) {
    python.destroy();
    try {
      python.onExit().get(longestSeconds, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException goOn) {
      // Spark stops under it, as it would have without us.
    }
  }
}
