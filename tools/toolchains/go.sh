#!/bin/sh
# Stock Go needs nothing but Go, which builds anchor-host itself.
set -eu
command -v "${GO:-go}" >/dev/null || { echo "go: missing (https://go.dev/dl/)" >&2; exit 1; }
