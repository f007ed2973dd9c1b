#!/bin/sh
# Builds the example plugins of every language into build/languages, or tests what
# was built:
#
#     tools/languages.sh build            installs the toolchains that are missing
#     tools/languages.sh test             prints a table
#     WRITE=1 tools/languages.sh test     writes it into docs/languages/README.md
#
# LANGUAGES="go rust" narrows both to some languages. A toolchain that cannot be
# installed is skipped with a word; with CI set it is a failure.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
languages=${LANGUAGES:-go tinygo rust c cpp zig ts js python java wat}
command=${1:-}
list=$(echo $languages | tr ' ' ',')

case $command in
build)
	for language in $languages; do
		began=$(date +%s)
		if ! sh "tools/toolchains/$language.sh"; then
			echo "$language: no toolchain" >&2
			[ -z "${CI:-}" ]
		fi
		took=$(($(date +%s) - began))
		[ $took -lt 3 ] || echo "$language: toolchain ready after $took s" >&2
	done
	PATH=$PWD/build/_toolchains/bin:$PATH $go run ./internal/testkit/languages build -lang "$list"
	;;
test)
	set -- -lang "$list"
	[ -z "${WRITE:-}" ] || set -- "$@" -write
	[ -z "${SHORT:-}" ] || set -- "$@" -short
	$go run ./internal/testkit/languages test "$@"
	PATH=$PWD/build/_toolchains/bin:$PATH ANCHOR_LANGUAGES=$list $go test ./sdk ./internal/testkit/languages
	PATH=$PWD/build/_toolchains/bin:$PATH ANCHOR_LANGUAGES=$list $go test ./plugins/examples -run OtherLanguages
	;;
*)
	echo "usage: tools/languages.sh build|test" >&2
	exit 2
	;;
esac
