#!/bin/sh
# Runs every fuzz target of the module for the given time, one after another.
# Each package is built once for all of its targets.
# BLIND=1 fuzzes without coverage: the targets are built as the tests
# are, which are compiled already, and in a second chance finds as much as guidance does.
# PART=1/2 takes every second package, those with the number 1.
# usage: tools/fuzz.sh 10s
set -eu
time=${1:-10s}
go=${GO:-go}
work=$(mktemp -d)
log=$work/log
trap 'rm -rf "$work"' EXIT

# ended_late tells a run that was busy when its time was over, which the test binary
# reports as a failure now and then, from one that found something: that names the
# input.
ended_late() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input\|failure while testing seed\|panic' "$log"
}

guided=-fuzz=.
[ -z "${BLIND:-}" ] || guided=

for dir in $($go list -f '{{$dir := .Dir}}{{range .TestGoFiles}}{{$dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}} {{end}}' ./... |
	xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u |
	awk -v part="${PART:-}" '{ split(part "/", p, "/") } !p[2] || NR % p[2] == p[1]'); do
	# shellcheck disable=SC2086
	$go test -c $guided -o "$work/fuzz.test" "$dir"
	for target in $("$work/fuzz.test" -test.list '^Fuzz'); do
		echo "fuzz ${dir#"$PWD"/} $target ($time)"
		# A failing input is written to testdata/fuzz of the package, as go test does.
		if (cd "$dir" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
			-test.fuzzcachedir "$($go env GOCACHE)/fuzz/${dir#"$PWD"/}") >"$log" 2>&1; then
			grep '^fuzz: elapsed' "$log" | tail -n 1 || true
		elif ended_late; then
			echo "ended late"
		else
			cat "$log"
			exit 1
		fi
	done
done
