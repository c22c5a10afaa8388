"""Runners that start jobs on machines of others; ring 1."""
