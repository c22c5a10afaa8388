import com.hivemq.embedded.EmbeddedExtension;
import com.hivemq.embedded.EmbeddedHiveMQ;
import com.hivemq.extension.sdk.api.ExtensionMain;
import com.hivemq.extension.sdk.api.auth.SimpleAuthenticator;
import com.hivemq.extension.sdk.api.auth.parameter.SimpleAuthInput;
import com.hivemq.extension.sdk.api.auth.parameter.SimpleAuthOutput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStartInput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStartOutput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStopInput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStopOutput;
import com.hivemq.extension.sdk.api.services.Services;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** A site's MQTT broker: HiveMQ with a file of users; a client with a certificate needs none. */
class MqttBroker implements ExtensionMain, SimpleAuthenticator {
  private final Path users;

  MqttBroker(Path users) {
    this.users = users;
  }

  /** Arguments: the folder of config.xml and users.properties, the folder of its data. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    EmbeddedExtension extension =
        EmbeddedExtension.builder()
            .withId("users")
            .withName("users")
            .withVersion("1")
            .withAuthor("millrace")
            .withExtensionMain(new MqttBroker(folder.resolve("users.properties")))
            .build();
    EmbeddedHiveMQ.builder()
        .withConfigurationFolder(folder)
        .withDataFolder(Path.of(arguments[1]))
        .withExtensionsFolder(folder.resolve("extensions"))
        .withEmbeddedExtension(extension)
        .build()
        .start()
        .join();
  }

  @Override
  public void extensionStart(ExtensionStartInput input, ExtensionStartOutput output) {
    Services.securityRegistry().setAuthenticatorProvider(provider -> this);
  }

  @Override
  public void extensionStop(ExtensionStopInput input, ExtensionStopOutput output) {}

  @Override
  public void onConnect(SimpleAuthInput input, SimpleAuthOutput output) {
    boolean hasCertificate =
        input
            .getConnectionInformation()
            .getClientTlsInformation()
            .flatMap(tls -> tls.getClientCertificate())
            .isPresent();
    if (hasCertificate || isKnown(input)) {
      output.authenticateSuccessfully();
    } else {
      output.failAuthentication("wrong user or password");
    }
  }

  private boolean isKnown(SimpleAuthInput input) {
    Properties known = new Properties();
    try (InputStream file = Files.newInputStream(users)) {
      known.load(file);
    } catch (java.io.IOException error) {
      return false;
    }
    var packet = input.getConnectPacket();
    String password = packet.getUserName().map(known::getProperty).orElse(null);
    return password != null
        && packet.getPassword()
            .map(given -> StandardCharsets.UTF_8.decode(given).toString().equals(password))
            .orElse(false);
  }
}
