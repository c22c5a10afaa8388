"""Brings topics of many sites to another cluster: each record once, in its partition's order."""
