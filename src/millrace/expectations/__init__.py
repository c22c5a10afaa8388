"""Suites of expectations, and the predicates that they are compiled to."""
