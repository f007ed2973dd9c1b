#!/bin/sh
# AssemblyScript from npm, for plugins in TypeScript syntax: leaves build/_toolchains/bin/asc.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh
mkdir -p build/_toolchains/bin
for command in asc; do
	ln -sfn "../npm/node_modules/.bin/$command" "build/_toolchains/bin/$command"
done
