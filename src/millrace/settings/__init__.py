"""Where everything lies, and what the platform is made of."""
