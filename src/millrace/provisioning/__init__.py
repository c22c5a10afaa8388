"""Topics, users and rights of a cluster: what is wanted, what is there, what is done."""
