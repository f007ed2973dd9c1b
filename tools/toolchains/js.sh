#!/bin/sh
# Installs what sdk/pdk-js/build.mjs needs: QuickJS and Binaryen. The launchers
# are build/_toolchains/bin/wasm-merge and wasm-metadce; QuickJS is found beside
# them.
exec "$(dirname "$0")/npm/install.sh" wasm-merge wasm-metadce
