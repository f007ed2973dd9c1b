#!/bin/sh
# Runs every fuzz target of the module for the given time, one after another.
# usage: tools/fuzz.sh 10s
set -eu
time=${1:-10s}
go=${GO:-go}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# ended_late tells a run that was busy when its time was over, which go test
# reports as a failure now and then, from one that found something: that names the
# input.
ended_late() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input\|failure while testing seed\|panic' "$log"
}

for pkg in $($go list ./...); do
	for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target ($time)"
		if $go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" >"$log" 2>&1; then
			tail -n 1 "$log"
		elif ended_late; then
			echo "ended late"
		else
			cat "$log"
			exit 1
		fi
	done
done
