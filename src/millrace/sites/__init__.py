"""A site: one Kafka cluster at the edge, and how its clients reach it."""
