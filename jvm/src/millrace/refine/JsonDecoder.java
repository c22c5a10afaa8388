package millrace.refine;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import org.apache.spark.types.variant.VariantBuilder;

/** One JSON object a message, in UTF-8, and nothing behind it. */
public final class JsonDecoder extends Decoder {
  private static final JsonFactory JSON =
      new JsonFactoryBuilder()
          .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
          .build();
  private static final int MOST_DIGITS = 38;

  public JsonDecoder(String columns) throws IOException {
    super(columns);
  }

  @Override
  String nameOfFailure() {
    return "not-json";
  }

  @Override
  void fill(Draft draft, byte[] value) throws IOException {
    try (JsonParser parser = JSON.createParser(value)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new Undecodable("not-json: the value is no object");
      }
      object(parser, draft, root);
      if (parser.nextToken() != null) {
        throw new Undecodable("not-json: there is more behind the object's end");
      }
    }
  }

  private void object(JsonParser parser, Draft draft, Field field) throws IOException {
    VariantBuilder payload = draft.payload;
    ArrayList<VariantBuilder.FieldEntry> entries = new ArrayList<>();
    int start = payload.getWritePos();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = parser.currentName();
      Field inner = field.at(name);
      parser.nextToken();
      if (inner.isTaken()) {
        take(parser, draft, inner);
        // Inside another object it stays where it is, or the object would not be what was sent.
        if (field == root) {
          refuseTwice(draft, inner, name);
          parser.skipChildren();
          continue;
        }
      }
      int key = payload.addKey(name);
      entries.add(new VariantBuilder.FieldEntry(name, key, payload.getWritePos() - start));
      value(parser, draft, inner);
    }
    payload.finishWritingObject(start, entries);
  }

  /** The payload's builder refuses its own. */
  private static void refuseTwice(Draft draft, Field field, String name) throws Undecodable {
    if (!draft.meet(field)) {
      throw new Undecodable("not-json: field '" + name + "' stands twice");
    }
  }

  private void array(JsonParser parser, Draft draft) throws IOException {
    ArrayList<Integer> offsets = new ArrayList<>();
    int start = draft.payload.getWritePos();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      offsets.add(draft.payload.getWritePos() - start);
      value(parser, draft, Field.NONE);
    }
    draft.payload.finishWritingArray(start, offsets);
  }

  private void value(JsonParser parser, Draft draft, Field field) throws IOException {
    VariantBuilder payload = draft.payload;
    switch (parser.currentToken()) {
      case START_OBJECT -> object(parser, draft, field);
      case START_ARRAY -> array(parser, draft);
      case VALUE_STRING -> payload.appendString(parser.getText());
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> number(parser, payload);
      case VALUE_TRUE -> payload.appendBoolean(true);
      case VALUE_FALSE -> payload.appendBoolean(false);
      default -> payload.appendNull();
    }
  }

  /** Exact where a variant can be: as a long, as a decimal of 38 digits; else as a double. */
  private static void number(JsonParser parser, VariantBuilder payload) throws IOException {
    if (isLong(parser)) {
      payload.appendLong(parser.getLongValue());
      return;
    }
    String text = parser.getText();
    boolean isPlain = text.indexOf('e') < 0 && text.indexOf('E') < 0 && text.length() < 3 * MOST_DIGITS;
    BigDecimal exact = isPlain ? new BigDecimal(text) : null;
    if (exact != null && exact.precision() <= MOST_DIGITS && exact.scale() <= MOST_DIGITS) {
      payload.appendDecimal(exact);
    } else {
      payload.appendDouble(parser.getDoubleValue());
    }
  }

  private static boolean isLong(JsonParser parser) throws IOException {
    return parser.currentToken() == JsonToken.VALUE_NUMBER_INT
        && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
  }

  private static void take(JsonParser parser, Draft draft, Field field) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return;
    }
    for (Field.Target target : field.targets()) {
      draft.set(target, typed(parser, target.type()));
    }
  }

  private static Object typed(JsonParser parser, Type type) throws IOException {
    return switch (parser.currentToken()) {
      case VALUE_STRING -> type.text(parser.getText());
      case VALUE_TRUE -> type.bool(true);
      case VALUE_FALSE -> type.bool(false);
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT ->
          isLong(parser) ? type.integer(parser.getLongValue()) : finite(parser, type);
      default -> null;
    };
  }

  private static Object finite(JsonParser parser, Type type) throws IOException {
    double value = parser.getDoubleValue();
    return Double.isFinite(value) ? type.real(value) : null;
  }
}
