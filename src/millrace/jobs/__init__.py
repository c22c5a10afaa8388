"""Jobs: what starts, finds, watches and stops one, whichever runner it has."""
