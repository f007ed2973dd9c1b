#!/bin/sh
# Installs what the programs of the folder examples need, at the versions of their lock files, into
# build/examples, and runs them against fakes of model APIs on loopback: examples.sh COMMAND [python|js,go]
set -eu
command=$(realpath "$1")
languages=,${2:-python,js,go},
cd "$(dirname "$0")/.."
go=${GO:-go}
to=$PWD/build/examples
mkdir -p "$to"

has() { case $languages in *,$1,*) ;; *) return 1 ;; esac }
needs() { command -v "$1" >/dev/null || { echo "examples.sh: $1 is missing" >&2; exit 1; }; }

has python && needs python3
has js && needs npm
if has python && ! cmp -s examples/python/requirements.txt "$to/requirements.txt"; then
	python3 -m venv "$to/python"
	"$to/python/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: -r examples/python/requirements.txt
	cp examples/python/requirements.txt "$to/"
fi
if has js && ! cmp -s examples/js/package-lock.json "$to/package-lock.json"; then
	npm --prefix examples/js ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2
	cp examples/js/package-lock.json "$to/"
fi
! has go || $go -C examples/go build -ldflags="-s -w" -o "$to/" ./anthropic ./openai
cd tools/examples
set -- env ANCHOR_EXAMPLES_COMMAND="$command" ANCHOR_EXAMPLES_PYTHON="$to/python/bin/python" ANCHOR_EXAMPLES="$languages"
$go test -c -o "$to/examples.test" .
# Nothing but loopback exists for the programs, where the system can do that.
if unshare -rn ip link set lo up 2>/dev/null; then
	exec "$@" unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$to/examples.test" -test.v
fi
exec "$@" "$to/examples.test" -test.v
