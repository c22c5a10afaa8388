"""What a site's gateway decides: bytes of its spool, bounds, routes, what is delivered."""
