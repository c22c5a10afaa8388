package millrace.refine;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** One Avro record a message, framed as Confluent's clients do: zero, the schema's id, the record. */
public final class AvroDecoder extends Decoder {
  private static final int HEADER = 5;

  private final Map<Integer, String> schemas = new HashMap<>();
  private transient volatile Map<Integer, GenericDatumReader<GenericRecord>> readers;

  /** The schemas as `{"id": "schema", ...}`. */
  public AvroDecoder(String columns, String schemas) throws IOException {
    super(columns);
    new ObjectMapper()
        .readTree(schemas)
        .properties()
        .forEach(one -> this.schemas.put(Integer.valueOf(one.getKey()), one.getValue().asText()));
  }

  @Override
  String nameOfFailure() {
    return "not-avro";
  }

  @Override
  void fill(Draft draft, byte[] value) throws IOException {
    if (value.length < HEADER || value[0] != 0) {
      throw new Undecodable("not-framed: the value does not begin with a zero and a schema's id");
    }
    int id = ByteBuffer.wrap(value, 1, HEADER - 1).getInt();
    GenericDatumReader<GenericRecord> reader = readers().get(id);
    if (reader == null) {
      throw new Undecodable("unknown-schema: " + id);
    }
    BinaryDecoder bytes =
        DecoderFactory.get().binaryDecoder(value, HEADER, value.length - HEADER, null);
    GenericRecord record = reader.read(null, bytes);
    if (!bytes.isEnd()) {
      throw new Undecodable("not-avro: there is more behind the record's end");
    }
    new AvroWalk(draft).record(record, root, true);
  }

  private Map<Integer, GenericDatumReader<GenericRecord>> readers() {
    if (readers == null) {
      Map<Integer, GenericDatumReader<GenericRecord>> made = new HashMap<>();
      schemas.forEach(
          (id, text) -> made.put(id, new GenericDatumReader<>(new Schema.Parser().parse(text))));
      readers = made;
    }
    return readers;
  }
}
