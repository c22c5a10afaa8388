"""Files, folders and buckets: small files whole or not at all."""
