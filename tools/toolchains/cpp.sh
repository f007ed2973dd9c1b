#!/bin/sh
# C++ has the toolchain of C.
set -eu
exec sh "$(dirname "$0")/c.sh"
