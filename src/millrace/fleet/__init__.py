"""All pipelines, sites and relays at a glance."""
