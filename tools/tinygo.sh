#!/bin/sh
# Builds the example plugins with TinyGo and compares each with its stock-Go
# build on its own example.
set -eu
cd "$(dirname "$0")/.."
out=build/_tinygo
mkdir -p $out
if ! sh tools/toolchains/tinygo.sh; then
	echo "tinygo: skipped" >&2
	[ -z "${CI:-}" ] # in CI a skip is a failure
	exit
fi

# result FOLDER EXAMPLE prints the result of the example's build, without times.
result() {
	build/anchor-host build --strict --plugins "$1" --request "$2" | grep -vE '"(time_ms|build_time_ms|created_at|[a-z]+)": [0-9.]+,?$|created_at'
}

examples=$(cd plugins/examples && ls */example.json | xargs -n 1 dirname)

# A compiler keeps one core busy, so there is one for each. What it prints is of
# interest when it failed.
for name in $examples; do
	mkdir -p "$out/plugins/$name"
	cp "plugins/examples/$name/plugin.yaml" "$out/plugins/$name/"
	echo "build/_toolchains/bin/tinygo build -no-debug -o $out/plugins/$name/plugin.wasm ./plugins/examples/$name"
done > $out/commands
xargs -P "$(getconf _NPROCESSORS_ONLN)" -I CMD sh -c 'CMD 2>/dev/null || CMD' < $out/commands

for name in $examples; do
	request=plugins/examples/$name/example.json
	result build/plugins "$request" > $out/stock.txt
	result $out/plugins "$request" > $out/tinygo.txt
	cmp $out/stock.txt $out/tinygo.txt
	printf '%-20s %7d bytes, the same result as stock Go\n' "$name" "$(wc -c < "$out/plugins/$name/plugin.wasm")"
done
