#!/bin/sh
# Zig from npm, for plugins in Zig: leaves build/_toolchains/bin/zig.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh
mkdir -p build/_toolchains/bin
ln -sfn ../npm/node_modules/.bin/zig build/_toolchains/bin/zig
