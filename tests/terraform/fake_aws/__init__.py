"""AWS on loopback: moto, the services it lacks, and corrections where it answers otherwise."""
