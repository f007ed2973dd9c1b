#!/bin/sh
# Builds the example plugins with TinyGo and compares each with its stock-Go
# build on its own example. TinyGo comes from the Go module proxy; LLVM 19,
# clang, lld, wasi-libc and binaryen from Debian's packages (about 1 GB, once).
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
out=build/_tinygo # the underscore hides its sources from go build ./...
packages="clang-19 lld-19 llvm-19-dev libclang-19-dev wasi-libc libclang-rt-19-dev-wasm32 binaryen"

if ! command -v clang-19 >/dev/null || ! command -v wasm-ld-19 >/dev/null || ! command -v wasm-opt >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "tinygo: skipped: LLVM 19 is missing and cannot be installed here (as root on Debian: apt-get install $packages)" >&2
		[ -z "${CI:-}" ] # in CI a skip is a failure
		exit
	fi
	echo "tinygo: installing LLVM 19 from Debian's packages (about 1 GB, half a minute)"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi

mkdir -p $out
if [ ! -x $out/tinygo ]; then
	echo "tinygo: building the compiler (about a minute, once)"
	$go -C tools/tinygo build -tags llvm19 -o ../../$out/tinygo github.com/tinygo-org/tinygo
fi
if [ ! -d $out/root ]; then
	source=$($go -C tools/tinygo list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
	mkdir -p $out/root/lib
	cp -r "$source/src" "$source/targets" $out/root/
	chmod -R u+w $out/root
	mkdir -p $out/root/src/net # its submodule is not in the Go module; nothing here imports it
fi

# TinyGo's own wasip1 target, with Debian's libc and runtime in place of its
# submodules, as a reactor.
libc=$(clang-19 --target=wasm32-wasi -print-file-name=libc.a)
runtime=$(clang-19 --target=wasm32-wasi -rtlib=compiler-rt -print-libgcc-file-name)
cat > $out/plugin.json <<EOF
{
	"llvm-target": "wasm32-unknown-wasi", "cpu": "generic",
	"features": "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,-multivalue,-reference-types",
	"build-tags": ["tinygo.wasm"], "goos": "wasip1", "goarch": "wasm", "linker": "wasm-ld",
	"buildmode": "c-shared", "gc": "precise", "scheduler": "none", "default-stack-size": 65536,
	"cflags": ["-mbulk-memory", "-mnontrapping-fptoint", "-mno-multivalue", "-mno-reference-types", "-msign-ext",
		"-isystem", "/usr/include/wasm32-wasi"],
	"ldflags": ["--stack-first", "--no-demangle", "--no-entry", "$libc", "$runtime"],
	"extra-files": ["src/runtime/asm_tinygowasm.S"]
}
EOF

# result FOLDER EXAMPLE prints the result of the example's build, without times.
result() {
	build/anchor-host build --strict --plugins "$1" --request "$2" | grep -vE '"(time_ms|build_time_ms|created_at|[a-z]+)": [0-9.]+,?$|created_at'
}

for folder in plugins/examples/*/; do
	name=$(basename "$folder")
	[ -f "$folder/example.json" ] || continue
	mkdir -p "$out/plugins/$name"
	cp "$folder/plugin.yaml" "$out/plugins/$name/"
	TINYGOROOT=$PWD/$out/root $out/tinygo build -target $out/plugin.json -no-debug -o "$out/plugins/$name/plugin.wasm" "./$folder" 2>/dev/null ||
		TINYGOROOT=$PWD/$out/root $out/tinygo build -target $out/plugin.json -no-debug -o "$out/plugins/$name/plugin.wasm" "./$folder"
	result build/plugins "$folder/example.json" > $out/stock.txt
	result $out/plugins "$folder/example.json" > $out/tinygo.txt
	cmp $out/stock.txt $out/tinygo.txt
	printf '%-20s %7d bytes, the same result as stock Go\n' "$name" "$(wc -c < "$out/plugins/$name/plugin.wasm")"
done
