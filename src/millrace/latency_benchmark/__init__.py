"""`millrace race`: how fast messages come through."""
