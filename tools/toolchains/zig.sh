#!/bin/sh
# Zig from npm, for plugins in Zig: leaves build/_toolchains/bin/zig.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh || { [ -z "${CI:-}" ]; exit; } # in CI a toolchain that cannot be had is a failure
mkdir -p build/_toolchains/bin
ln -sfn ../npm/node_modules/.bin/zig build/_toolchains/bin/zig
