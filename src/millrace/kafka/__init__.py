"""Kafka's clients: their settings, their errors, coordinates of records."""
