"""Schemas of messages: files, the registry, and what they decode."""
