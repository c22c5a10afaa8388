"""Files that people edit, with the line of each key: YAML, JSON, and errors that point at them."""
