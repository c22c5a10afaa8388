"""Passwords, authorities and certificates."""
