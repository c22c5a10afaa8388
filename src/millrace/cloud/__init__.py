"""Terraform: what it is told, what it says, what it costs, what is packed for it."""
