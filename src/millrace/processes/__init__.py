"""Programs of one machine under its process manager."""
