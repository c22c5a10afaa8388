"""Replay, backfill, verify: what is missing, what is doubled, and what puts it right."""
