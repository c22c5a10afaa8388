"""Devices, sensors and sensor types that are registered."""
