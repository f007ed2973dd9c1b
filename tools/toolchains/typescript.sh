#!/bin/sh
# TypeScript needs what JavaScript needs.
set -eu
exec sh "$(dirname "$0")/js.sh"
