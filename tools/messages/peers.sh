#!/bin/sh
# Installs what peers/requirements.txt pins into build/messages-peers, and prints how many of the
# histories that they truncate an API would refuse. COMMAND is anchor-host: peers.sh COMMAND
set -eu
command=$(realpath "$1")
cd "$(dirname "$0")/../.."
from=tools/messages
to=$PWD/build/messages-peers
command -v python3 >/dev/null || { echo "peers.sh: python3 is missing (3.10 or newer, with venv)" >&2; exit 1; }
if ! cmp -s $from/peers/requirements.txt "$to/installed.txt"; then
	echo "installing the peers into build/messages-peers (about 500 MB, two minutes)" >&2
	python3 -m venv "$to"
	"$to/bin/pip" install -q --disable-pip-version-check -r $from/peers/requirements.txt >&2
	cp $from/peers/requirements.txt "$to/installed.txt"
fi
exec ${GO:-go} -C $from run . peers -python "$to/bin/python" "$command"
