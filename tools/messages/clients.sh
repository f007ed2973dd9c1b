#!/bin/sh
# Installs the clients that package-lock.json pins into build/clients, and runs
# `messages record|clients|agents ARGUMENT` where nothing but loopback exists:
#   clients.sh record DIR      clients.sh clients COMMAND      clients.sh "agents -show" COMMAND
# Needs npm, unshare and ip. Says what is missing.
set -eu
verb=$1
argument=$(realpath "$2")
cd "$(dirname "$0")/../.."
from=tools/messages
to=$PWD/build/clients

missing() { echo "clients.sh: $1" >&2; exit 1; }

[ "$(uname -s)" = Linux ] || missing "the clients run in a network namespace, which only Linux has"
command -v npm >/dev/null || missing "npm is missing (install Node.js 18 or newer)"
command -v unshare >/dev/null || missing "unshare is missing (install util-linux)"
command -v ip >/dev/null || missing "ip is missing (install iproute2)"
unshare -rn true 2>/dev/null || missing "this user may not make a network namespace (unshare -rn)"

mkdir -p "$to"
if ! cmp -s $from/package-lock.json "$to/installed.json"; then
	echo "installing the clients into build/clients (about 650 MB, half a minute)" >&2
	cp $from/package.json $from/package-lock.json "$to/"
	# No scripts of packages run here with a network. The one that is needed runs without.
	(cd "$to" && npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2 &&
		unshare -rn node node_modules/@anthropic-ai/claude-code/install.cjs >&2)
	cp $from/package-lock.json "$to/installed.json"
fi
${GO:-go} -C $from build -o "$to/messages" .
exec unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$to/messages" $verb -bin "$to/node_modules/.bin" "$argument"
