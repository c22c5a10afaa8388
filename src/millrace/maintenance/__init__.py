"""Compaction, retention and vacuum of tables; how long Airflow remembers."""
