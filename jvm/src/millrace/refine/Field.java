package millrace.refine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A field of a message that columns are made of, or that holds such fields. */
final class Field implements Serializable {
  static final Field NONE = new Field();

  private final Map<String, Field> inner = new HashMap<>();
  private final List<Target> targets = new ArrayList<>();

  /** A column to fill. */
  record Target(int column, Type type) implements Serializable {}

  /** From `[{"type": "double", "path": ["meta", "room"]}, ...]`, in the order of the columns. */
  static Field tree(String columns) throws IOException {
    Field root = new Field();
    int column = 0;
    for (JsonNode one : new ObjectMapper().readTree(columns)) {
      Field field = root;
      for (JsonNode name : one.get("path")) {
        field = field.inner.computeIfAbsent(name.asText(), unused -> new Field());
      }
      field.targets.add(new Target(column++, Type.of(one.get("type").asText())));
    }
    return root;
  }

  Field at(String name) {
    return inner.getOrDefault(name, NONE);
  }

  List<Target> targets() {
    return targets;
  }

  /** What a column holds wholly is not in the payload again. */
  boolean isTaken() {
    return !targets.isEmpty();
  }
}
