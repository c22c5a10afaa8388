import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** What a Kafka client is configured with: the login, as its config provider gave it. */
public class Login {
  public static void main(String[] settings) {
    Map<String, Object> given = new java.util.HashMap<>();
    for (String setting : settings) {
      String[] pair = setting.split("=", 2);
      given.put(pair[0], pair[1]);
    }
    given.put("key.deserializer", ByteArrayDeserializer.class);
    given.put("value.deserializer", ByteArrayDeserializer.class);
    System.out.println(new ConsumerConfig(given).getPassword("sasl.jaas.config").value());
  }
}
