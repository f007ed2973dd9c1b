#!/bin/sh
# Installs AssemblyScript: the launcher is build/_toolchains/bin/asc.
exec "$(dirname "$0")/npm/install.sh" asc
