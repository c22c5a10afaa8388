"""The whole product on one machine, or in containers."""
