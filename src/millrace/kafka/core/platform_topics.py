"""Topics that every site has, whatever its pipelines are."""

# What operators ask of devices, and what became of it.
COMMANDS, OUTCOMES = "commands", "command-outcomes"
# Alarms of jobs, sites and tables, at the site that carries them.
EVENTS = "platform-events"
