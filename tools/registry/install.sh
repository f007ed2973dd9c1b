#!/bin/sh
# Puts Debian's docker-registry into a folder. The package would start a server, so only its
# program is taken. Installs strace, which shows that offline installs open no socket.
# usage: tools/registry/install.sh build/registry
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
if ! command -v strace >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	apt-get install -y -qq strace >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq strace >/dev/null; }
fi
[ ! -x "$folder/docker-registry" ] || exit 0
if command -v docker-registry >/dev/null; then
	ln -s "$(command -v docker-registry)" "$folder/docker-registry"
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "docker-registry not found: install it (apt-get install docker-registry), or its tests are skipped" >&2
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq docker-registry >/dev/null 2>&1 || { apt-get update -qq && apt-get download -qq docker-registry >/dev/null; }
dpkg -x docker-registry_*.deb .
install usr/bin/docker-registry "$folder/docker-registry"
