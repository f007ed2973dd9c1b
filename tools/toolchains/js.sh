#!/bin/sh
# QuickJS and Binaryen from npm, for plugins in JavaScript: leaves
# build/_toolchains/bin/wasm-merge, wasm-metadce and tsc. A build finds
# QuickJS in the same folder of packages.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh
mkdir -p build/_toolchains/bin
for command in wasm-merge wasm-metadce tsc; do
	ln -sfn "../npm/node_modules/.bin/$command" "build/_toolchains/bin/$command"
done
