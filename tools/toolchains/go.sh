#!/bin/sh
# Stock Go needs nothing but Go, which is needed to build anchor-host anyway.
command -v "${GO:-go}" >/dev/null && exit
echo "go: skipped: Go is missing (https://go.dev/dl/)" >&2
[ -z "${CI:-}" ] # in CI a missing toolchain is a failure
