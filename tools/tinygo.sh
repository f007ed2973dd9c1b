#!/bin/sh
# Builds the example plugins with TinyGo and compares each with its stock-Go
# build on its own example.
set -eu
cd "$(dirname "$0")/.."
out=build/_tinygo
if ! sh tools/toolchains/tinygo.sh; then
	echo "tinygo: skipped" >&2
	[ -z "${CI:-}" ] # in CI a skip is a failure
	exit
fi

# build TARGET FOLDER builds one plugin.
build() {
	build/_toolchains/bin/tinygo build -no-debug -o "$1" "./$2"
}

# result FOLDER EXAMPLE prints the result of the example's build, without times.
result() {
	build/anchor-host build --strict --plugins "$1" --request "$2" | grep -vE '"(time_ms|build_time_ms|created_at|[a-z]+)": [0-9.]+,?$|created_at'
}

for folder in plugins/examples/*/; do
	name=$(basename "$folder")
	[ -f "$folder/example.json" ] || continue
	mkdir -p "$out/plugins/$name"
	cp "$folder/plugin.yaml" "$out/plugins/$name/"
	build "$out/plugins/$name/plugin.wasm" "$folder" 2>/dev/null || build "$out/plugins/$name/plugin.wasm" "$folder"
	result build/plugins "$folder/example.json" > $out/stock.txt
	result $out/plugins "$folder/example.json" > $out/tinygo.txt
	cmp $out/stock.txt $out/tinygo.txt
	printf '%-20s %7d bytes, the same result as stock Go\n' "$name" "$(wc -c < "$out/plugins/$name/plugin.wasm")"
done
