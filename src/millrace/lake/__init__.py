"""Bronze, silver, quarantine: what a row is, and tables without Spark."""
