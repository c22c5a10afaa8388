"""The files by which a job and those who watch it talk. Nothing else couples them."""
