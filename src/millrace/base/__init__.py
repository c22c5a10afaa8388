"""What every domain may use: errors, units, names, the console. Of no domain, and pure."""
