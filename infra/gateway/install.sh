#!/bin/sh
# Installs, upgrades or removes a site's gateway on a Debian machine; run as root from its bundle.
set -eu

usage() {
    cat <<'TEXT'
Usage: sudo ./install.sh [--remove | --purge] [--root DIR] [--no-service]

  (nothing)      install; run again with a newer bundle, it upgrades: what waits to be delivered stays,
                 and so does /etc/millrace/gateway.yaml
  --remove       stop and remove the program; its file and what waits to be delivered stay
  --purge        remove those too; refused while messages wait, but for --force
  --force        with --purge: throw away what waits to be delivered
  --root DIR     install below DIR, as when an image is made
  --no-service   leave users and systemd alone
TEXT
}

action=install root="" service=yes force=no
while [ $# -gt 0 ]; do
    case $1 in
        --remove) action=remove ;;
        --purge) action=purge ;;
        --force) force=yes ;;
        --root) root=${2:?"--root needs a folder"}; shift ;;
        --no-service) service=no ;;
        -h | --help) usage; exit 0 ;;
        *) echo "install.sh: there is no option '$1'" >&2; usage >&2; exit 2 ;;
    esac
    shift
done

here=$(cd "$(dirname "$0")" && pwd)
user=millrace-gateway
opt=$root/opt/millrace-gateway etc=$root/etc/millrace var=$root/var/lib/millrace
unit=$root/etc/systemd/system/millrace-gateway.service

fail() { echo "install.sh: $1" >&2; exit 1; }

need() {
    [ "$service" = no ] || [ "$(id -u)" = 0 ] || fail "run it as root: sudo ./install.sh"
    command -v python3 >/dev/null || fail "there is no python3; apt-get install python3 python3-venv"
    python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
        fail "python3 is $(python3 -V 2>&1); the gateway needs 3.11, as Debian 12 has it"
    python3 -c 'import ensurepip' 2>/dev/null || fail "apt-get install python3-venv"
}

install_program() {
    release=$opt/releases/$(sha256sum "$here/millrace.tar" "$here/requirements.txt" | sha256sum | cut -c1-12)
    if [ ! -e "$release/complete" ]; then
        rm -rf "$release" && mkdir -p "$release/lib"
        tar -xf "$here/millrace.tar" -C "$release/lib"
        python3 -m venv "$release/venv"
        "$release/venv/bin/pip" install --quiet --require-hashes --only-binary :all: \
            -r "$here/requirements.txt" || fail "its packages cannot be installed; see above"
        echo "$release/lib" >"$("$release/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/millrace.pth"
        touch "$release/complete"
    fi
    ln -sfn "$release" "$opt/current.new" && mv -T "$opt/current.new" "$opt/current"
    find "$opt/releases" -mindepth 1 -maxdepth 1 ! -path "$release" -mtime +30 -exec rm -rf {} +
}

install_files() {
    install -d -m 750 "$etc" "$var"
    for file in ca.pem client.properties password.properties gateway.pem devices.pem revoked.txt; do
        install -m 640 "$here/$file" "$etc/$file"
    done
    if [ -e "$etc/gateway.yaml" ]; then
        install -m 640 "$here/gateway.yaml" "$etc/gateway.yaml.new"
        echo "kept $etc/gateway.yaml; the bundle's is beside it as gateway.yaml.new"
    else
        install -m 640 "$here/gateway.yaml" "$etc/gateway.yaml"
    fi
    for file in tokens.txt status-token.txt; do
        [ -e "$etc/$file" ] || (umask 077 && python3 -c 'import secrets; print(secrets.token_urlsafe(24))' >"$etc/$file")
    done
    "$opt/current/venv/bin/python" -m millrace.gateway check "$etc/gateway.yaml"
}

install_service() {
    id "$user" >/dev/null 2>&1 || useradd --system --home-dir "$var" --shell /usr/sbin/nologin "$user"
    chown -R "$user:$user" "$etc" "$var"
    chmod 600 "$etc"/*token*.txt "$etc/password.properties" "$etc/gateway.pem"
    install -D -m 644 "$here/millrace-gateway.service" "$unit"
    systemctl daemon-reload
    systemctl enable --quiet millrace-gateway
    systemctl restart millrace-gateway
    echo "the gateway runs: systemctl status millrace-gateway; journalctl -u millrace-gateway"
}

remove() {
    if [ "$service" = yes ]; then
        systemctl disable --quiet --now millrace-gateway 2>/dev/null || true
        rm -f "$unit" && systemctl daemon-reload
    fi
    rm -rf "$opt"
}

purge() {
    if [ "$service" = yes ]; then systemctl stop millrace-gateway 2>/dev/null || true; fi
    if [ "$force" = no ] && [ -x "$opt/current/venv/bin/python" ]; then
        "$opt/current/venv/bin/python" -m millrace.gateway waiting "$etc/gateway.yaml" ||
            fail "messages wait to be delivered; let it run until they are, or say --force"
    fi
    remove
    rm -rf "$etc" "$var"
}

case $action in
    install)
        need
        install_program
        install_files
        if [ "$service" = yes ]; then install_service; fi
        ;;
    remove) remove && echo "removed; $etc and $var stay" ;;
    purge) purge && echo "removed, with all it had" ;;
esac
