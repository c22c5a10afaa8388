#!/bin/sh
# A volume begins as root's. From there on nobody is root, here as in all containers.
set -eu
var="$MILLRACE_HOME/var"
cut -d ' ' -f 5 /proc/self/mountinfo | grep "^$var" | while read -r volume; do
    chown 10001:10001 "$volume"
    case "${volume%/*}" in "$var"*) chown 10001:10001 "${volume%/*}" ;; esac
done
exec setpriv --reuid 10001 --regid 10001 --clear-groups --inh-caps -all --bounding-set -all \
    --no-new-privs "$MILLRACE_HOME/.venv/bin/millrace" container prepare
