#!/bin/sh
# Builds the plugins that "anchor-host init" installs, with the Zig of tools/toolchains. The
# modules are committed; the same sources give the same bytes.
set -eu
cd "$(dirname "$0")/.."
sh tools/toolchains/zig.sh
zig=$PWD/build/_toolchains/bin/zig
for folder in plugins/starter/*/; do
	(cd "$folder" && "$zig" build-exe plugin.zig -target wasm32-freestanding -O ReleaseSmall -fstrip -fno-entry -rdynamic \
		--stack 65536 -femit-bin=plugin.wasm)
	chmod 644 "$folder/plugin.wasm"
done
