"""One site's gateway: takes messages, answers when they are on disk, and delivers them."""
