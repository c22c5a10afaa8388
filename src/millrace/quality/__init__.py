"""The batch check of a table: which rows, what was found, its page."""
