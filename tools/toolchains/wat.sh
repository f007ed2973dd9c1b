#!/bin/sh
# wabt from npm, for plugins in WebAssembly text: leaves build/_toolchains/bin/wat2wasm.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh
mkdir -p build/_toolchains/bin
for command in wat2wasm; do
	ln -sfn "../npm/node_modules/.bin/$command" "build/_toolchains/bin/$command"
done
