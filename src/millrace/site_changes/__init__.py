"""A site is added, changed, retired; its passwords are renewed."""
