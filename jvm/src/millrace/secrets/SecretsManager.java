package millrace.secrets;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.provider.ConfigProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.secretsmanager.SecretsManagerClient;

/**
 * Gives Kafka's clients their login, <code>${aws:ARN:jaas}</code>, so that no setting holds it.
 *
 * <p>Kafka splits at colons; those of the ARN are written as bars.
 */
public final class SecretsManager implements ConfigProvider {
  private static final ObjectMapper JSON = new ObjectMapper();
  // An executor makes a client for each partition, and AWS is paid for each question.
  private static final long KEPT_NANOS = Duration.ofMinutes(1).toNanos();
  private static final Map<String, Login> KEPT = new ConcurrentHashMap<>();

  private record Login(String jaas, long atNanos) {
    boolean isOld() {
      return System.nanoTime() - atNanos > KEPT_NANOS;
    }
  }

  @Override
  public void configure(Map<String, ?> settings) {}

  @Override
  public ConfigData get(String path) {
    return get(path, Set.of("jaas"));
  }

  @Override
  public ConfigData get(String path, Set<String> keys) {
    if (!keys.equals(Set.of("jaas"))) {
      throw new ConfigException("a secret has one key here, jaas; asked for: " + keys);
    }
    Login login =
        KEPT.compute(
            path.replace('|', ':'),
            (arn, kept) -> kept == null || kept.isOld() ? ask(arn) : kept);
    return new ConfigData(Map.of("jaas", login.jaas()));
  }

  private static Login ask(String arn) {
    Region region = Region.of(arn.split(":")[3]);
    try (SecretsManagerClient client = SecretsManagerClient.builder().region(region).build()) {
      return new Login(jaas(arn, client.getSecretValue(ask -> ask.secretId(arn)).secretString()),
          System.nanoTime());
    }
  }

  /** No message holds what was read. */
  private static String jaas(String arn, String text) {
    try {
      JsonNode login = JSON.readTree(text);
      return "org.apache.kafka.common.security.scram.ScramLoginModule required username=\""
          + login.required("username").asText()
          + "\" password=\""
          + login.required("password").asText()
          + "\";";
    } catch (JsonProcessingException | IllegalArgumentException broken) {
      throw new ConfigException("secret " + arn + " holds no JSON with username and password");
    }
  }

  @Override
  public void close() {}
}
