#!/bin/sh
# Walks the console of a service in Chromium. Without Chromium it says so and succeeds, but fails
# in CI, where it installs it.
#
#	run.sh COMMAND CONFIGURATION
set -eu
out=build/console
axe=4.11.0
mkdir -p $out

if ! command -v chromium >/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "console: installing Chromium from Debian's packages (a minute)" >&2
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null || true
	fi
	if ! command -v chromium >/dev/null; then
		echo "NOT TESTED: the console in a browser, as there is no chromium (install it)" >&2
		[ -z "${CI:-}" ]
		exit
	fi
fi
if ! [ -f $out/axe-$axe.js ]; then
	if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm) >/dev/null || true
	fi
	if ! (cd $out && npm pack --silent axe-core@$axe >/dev/null && tar -xzf axe-core-$axe.tgz package/axe.min.js && mv package/axe.min.js axe-$axe.js && rm -r package axe-core-$axe.tgz); then
		echo "NOT TESTED: the console in a browser, as axe-core cannot be had (npm pack axe-core@$axe)" >&2
		[ -z "${CI:-}" ]
		exit
	fi
fi
exec "${GO:-go}" -C tools/console run . -command "$PWD/$1" -config "$PWD/$2" -axe "$PWD/$out/axe-$axe.js" -out "$PWD/$out"
