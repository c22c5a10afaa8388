"""The bronze table: what came, untouched, with the coordinates of where it came from."""

from __future__ import annotations

# Name and Spark SQL type, in order. (site, topic, topic_id, partition, offset) is unique.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("site", "string"),
    ("topic", "string"),
    ("topic_id", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("kafka_time", "timestamp"),
    ("key", "binary"),
    ("headers", "array<struct<key:string,value:binary>>"),
    ("value", "binary"),
    ("ingested_at", "timestamp"),
    ("day", "date"),
)
PARTITION_BY = ("day",)
PROPERTIES = {
    # Statistics on payloads cost time and find nothing.
    "delta.dataSkippingStatsColumns": "site,topic,topic_id,partition,offset,kafka_time,ingested_at",
    # What a version added can be read alone; plain appends pay nothing for it.
    "delta.enableChangeDataFeed": "true",
    # A commit every second or two: the log is summed up less often, and old entries go sooner.
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 2 days",
}
