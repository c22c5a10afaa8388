"""The edge under faults, one after the other, each beneath a load that does not stop."""
