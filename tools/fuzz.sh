#!/bin/sh
# Runs every fuzz target of the module for the given time, one after another.
# usage: tools/fuzz.sh 10s
set -eu
time=${1:-10s}
go=${GO:-go}
for pkg in $($go list ./...); do
	for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target ($time)"
		$go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
