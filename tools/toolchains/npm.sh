#!/bin/sh
# Puts the npm packages that npm/package-lock.json pins into build/_toolchains/npm.
# For the scripts beside it; prints nothing when there is nothing to do.
set -eu
cd "$(dirname "$0")/../.."
from=tools/toolchains/npm
to=build/_toolchains/npm
cmp -s $from/package-lock.json $to/installed.json && exit 0

if ! command -v npm >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "npm: missing, and cannot be installed here (install Node.js 18 or newer)" >&2
		exit 1
	fi
	echo "npm: installing Node.js from Debian's packages (half a minute)" >&2
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
fi
echo "npm: installing the pinned packages into $to (about 500 MB, half a minute)" >&2
mkdir -p $to
cp $from/package.json $from/package-lock.json $to/
# Not "npm ci": it wants the packages of other systems in the lock file too.
(cd $to && npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
cp $from/package-lock.json $to/installed.json
