#!/bin/sh
# Zig from npm, for plugins in Zig: leaves build/_toolchains/bin/zig.
set -eu
cd "$(dirname "$0")/../.."
sh tools/toolchains/npm.sh || { [ -z "${CI:-}" ]; exit; } # in CI a toolchain that cannot be had is a failure
mkdir -p build/_toolchains/bin
# The compiler itself is 0.1 s faster than the script of Node.js that starts it.
zig=$(cd build/_toolchains && echo npm/node_modules/@zigc/*-*/bin/zig)
[ -x "build/_toolchains/$zig" ] || zig=npm/node_modules/.bin/zig
ln -sfn "../$zig" build/_toolchains/bin/zig
