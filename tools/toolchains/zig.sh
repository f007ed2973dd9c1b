#!/bin/sh
# Installs Zig from npm: the launcher is build/_toolchains/bin/zig.
exec "$(dirname "$0")/npm/install.sh" zig
