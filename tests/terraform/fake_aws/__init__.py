"""AWS on loopback: moto, the services it lacks, and corrections where its answers differ from AWS's."""
