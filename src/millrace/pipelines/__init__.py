"""A pipeline's file: what stands in it, what it refers to, what it brings into being."""
