"""Events that a person should hear of, gathered into incidents and their pages."""
