"""The users that Millrace has at a site's cluster; each may do its own work and nothing else."""

INGEST, APP, SIMULATOR, GATEWAY = "ingest", "app", "simulator", "gateway"
RELAY = "relay"
# Registers devices, sensors and sensor types.
REGISTRAR = "registrar"
SITE_USERS = (INGEST, APP, SIMULATOR, GATEWAY, RELAY, REGISTRAR)
# Sends and reads platform events, at the site that carries them.
PLATFORM = "platform"
