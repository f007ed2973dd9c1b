#!/bin/sh
# Installs wabt: the launcher is build/_toolchains/bin/wat2wasm.
exec "$(dirname "$0")/npm/install.sh" wat2wasm
