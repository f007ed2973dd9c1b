#!/bin/sh
# Installs the compilers that come from npm, at the versions of package-lock.json,
# and links the commands named as arguments into build/_toolchains/bin:
#
#     tools/toolchains/npm/install.sh asc wat2wasm
#
# Node.js 18 or newer is taken from Debian's packages when there is none.
set -eu
cd "$(dirname "$0")/../../.."
sources=tools/toolchains/npm
out=build/_toolchains/npm
bin=build/_toolchains/bin

# skip REASON leaves: in CI a toolchain that cannot be had is a failure.
skip() {
	echo "npm: skipped: $1" >&2
	[ -z "${CI:-}" ]
	exit
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		skip "Node.js 18 or newer is missing and cannot be installed here (on Debian, as root: apt-get install nodejs npm)"
	fi
	echo "npm: installing Node.js from Debian's packages (about 30 s)" >&2
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
if [ "$(node -p 'process.versions.node.split(".")[0] >= 18')" != true ]; then
	skip "Node.js $(node --version) is too old (18 or newer is needed)"
fi

mkdir -p "$out" "$bin"
if ! cmp -s "$sources/package-lock.json" "$out/installed.json"; then
	echo "npm: installing the packages of $sources/package.json (about 20 s, 600 MB, once)" >&2
	cp "$sources/package.json" "$sources/package-lock.json" "$out/"
	npm ci --prefix "$out" --no-audit --no-fund --loglevel=error >&2
	cp "$sources/package-lock.json" "$out/installed.json"
fi
for command in "$@"; do
	[ -e "$out/node_modules/.bin/$command" ] || { echo "npm: $command is not among the packages of $sources" >&2; exit 1; }
	ln -sfn "../npm/node_modules/.bin/$command" "$bin/$command"
done
