#!/bin/sh
# Packs the helper libraries as the registries of npm, crates.io, PyPI and Maven take them, into
# build/packages, and uses each package once: packages.sh [LANGUAGE…]
#
# A package has the version of the program, the licence, and every source that "plugin new" copies.
# A tool that is missing is told; with CI set it is a failure.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
to=$root/build/packages
release=$(sed -n 's/^const Release = "\(.*\)"$/\1/p' cmd/anchor-host/internal/cli/buildinfo.go)
export npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false PIP_DISABLE_PIP_VERSION_CHECK=1

fail() { echo "packages: $1" >&2; exit 1; }

has() {
	command -v "$1" >/dev/null && return
	[ -z "${CI:-}" ] || fail "$1 is missing"
	echo "packages: not packed: $1 is missing" >&2
	return 1
}

# stage copies a library with the licence to a folder of its own, and goes there.
stage() {
	rm -rf "${to:?}/$1" && mkdir -p "$to/$1"
	cp -R "sdk/$1" "$to/$1/source"
	cp LICENSE "$to/$1/source/"
	cd "$to/$1/source"
}

# holds checks that a list of files in stdin, below a folder, has the licence and all sources of a library.
# That for JavaScript has its types alone: "plugin build" brings the rest.
holds() {
	[ "$1" = pdk-js ] && sources='*.d.ts' || sources='*'
	sort >"$to/$1/files.txt"
	for file in LICENSE $(cd "$root/sdk/$1" && find . -type f \( -name '*.ts' -o -name '*.mjs' -o -name '*.js' -o -name '*.wat' -o -name '*.rs' -o -name '*.py' -o -name '*.java' \) ! -path '*/target/*' ! -path '*/node_modules/*' ! -path './build/*' ! -path '*/test/*' -name "$sources" | sed 's|^\./||'); do
		grep -qE "(^|/)$file\$" "$to/$1/files.txt" || fail "sdk/$1: the package lacks $file"
	done
}

npm_package() {
	has npm || return 0
	(
		stage "$1"
		[ "$(node -p 'require("./package.json").version')" = "$release" ] || fail "sdk/$1/package.json: the version is not $release"
		npm pack --silent --pack-destination .. >/dev/null
		tar -tzf ../*.tgz | holds "$1"
		mkdir ../use && cd ../use
		echo '{"private": true, "type": "module"}' >package.json
		npm install --silent --ignore-scripts ../*.tgz
		case $1 in
		pdk-js)
			printf '%s\n' 'import type { Answer, Changes, RowsRequest } from "@anchor-host/pdk-js";' \
				'export function filter(request: RowsRequest): Answer<Changes> { return { keep: request.items.map((_, row) => row).slice(0, 1) }; }' >plugin.ts
			npm install --silent --ignore-scripts typescript@5.9.3
			npx --no-install tsc --strict --target es2024 --lib es2024 --module esnext --moduleResolution bundler plugin.ts
			node --input-type=module -e 'import { filter } from "./plugin.js"; if (filter({ items: [1, 2] }).keep.length != 1) process.exit(1)'
			;;
		pdk-as)
			printf '%s\n' 'import { Changes, Request, inJSON, DONE } from "@anchor-host/pdk-as";' \
				'export { anchor_abi_1, anchor_mailbox, anchor_reserve } from "@anchor-host/pdk-as/serve";' \
				'function all(r: Request, c: Changes): i32 { return DONE; }' \
				'export function anchor_filter(): i32 { return inJSON(all); }' >plugin.ts
			npm install --silent --ignore-scripts assemblyscript@0.28.20
			npx --no-install asc plugin.ts --use abort= -o plugin.wasm
			test -s plugin.wasm
			;;
		esac
	)
}

crate() {
	has cargo || return 0
	(
		stage pdk-rust
		[ "$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)" = "$release" ] || fail "sdk/pdk-rust/Cargo.toml: the version is not $release"
		cargo package --quiet --offline --allow-dirty --target-dir ../target
		tar -tzf ../target/package/*.crate | holds pdk-rust
	)
}

wheel() {
	has python3 || return 0
	(
		stage pdk-py
		python3 -m venv ../venv
		../venv/bin/pip install --quiet build==1.6.1
		../venv/bin/python -m build --outdir .. . >../build.log 2>&1 || { cat ../build.log >&2; exit 1; }
		ls "../anchor_pdk-$release-py3-none-any.whl" "../anchor_pdk-$release.tar.gz" >/dev/null || fail "sdk/pdk-py/pyproject.toml: the version is not $release"
		../venv/bin/python -m zipfile -l ../*.whl | sed -n 's/^\([^ ]*\) .*/\1/p' | holds pdk-py
		../venv/bin/pip install --quiet --no-index ../*.whl
		cd .. && venv/bin/python -c 'import anchor; anchor.kv_set("a", "b"); assert anchor.kv_get("a") == "b"'
	)
}

# jar packs classes and sources, the two that Maven Central asks for, and compiles and runs a class with them.
jar() {
	has mvn || return 0
	(
		stage pdk-java
		mvn -q -B -ntp package
		classes=$PWD/target/anchor-pdk-$release.jar sources=$PWD/target/anchor-pdk-$release-sources.jar
		ls "$classes" "$sources" >/dev/null || fail "sdk/pdk-java/pom.xml: the version is not $release"
		python3 -m zipfile -l "$sources" | sed -n 's/^\([^ ]*\) .*/\1/p' | holds pdk-java
		python3 -m zipfile -l "$classes" | sed -n 's/^\([^ ]*\)\.class .*/\1.java/p; s/^META-INF\/\(LICENSE\) .*/\1/p' | holds pdk-java
		mkdir ../use && cd ../use
		echo 'class Use { public static void main(String[] a) { io.anchorhost.Anchor.kvSet("a", "b"); System.out.println(io.anchorhost.Anchor.kvGet("a")); } }' >Use.java
		javac -cp "$classes" Use.java
		[ "$(java -cp "$classes:." Use)" = b ] || fail "sdk/pdk-java: the jar cannot be used"
	)
}

mkdir -p "$to"
for language in ${*:-js as rust py java}; do
	began=$(date +%s)
	case $language in
	js | as) npm_package "pdk-$language" ;;
	rust) crate ;;
	py) wheel ;;
	java) jar ;;
	*) fail "no language $language (want js, as, rust, py or java)" ;;
	esac
	echo "packages: $language: $(($(date +%s) - began)) s"
done
