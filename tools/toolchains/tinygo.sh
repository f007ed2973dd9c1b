#!/bin/sh
# TinyGo 0.41.1 from the Go module proxy, with LLVM 19, clang, lld, wasi-libc and
# binaryen from Debian's packages, for small plugins in Go. Leaves
# build/_toolchains/bin/tinygo.
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go}
out=build/_toolchains/tinygo # the underscore hides its sources from go build ./...
bin=build/_toolchains/bin
packages="clang-19 lld-19 llvm-19-dev libclang-19-dev wasi-libc libclang-rt-19-dev-wasm32 binaryen"

if ! command -v clang-19 >/dev/null || ! command -v wasm-ld-19 >/dev/null || ! command -v wasm-opt >/dev/null ||
	! [ -d /usr/include/wasm32-wasi ] || ! [ -d /usr/lib/llvm-19/include/llvm-c ] || ! [ -d /usr/lib/llvm-19/include/clang-c ] ||
	! [ -e "$(clang-19 --target=wasm32-wasi -rtlib=compiler-rt -print-libgcc-file-name)" ]; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "tinygo: LLVM 19 is missing and cannot be installed here (as root on Debian: apt-get install $packages)" >&2
		exit 1
	fi
	echo "tinygo: installing LLVM 19 from Debian's packages (about 1 GB, half a minute)" >&2
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi

mkdir -p $out $bin
if [ ! -x $out/tinygo ]; then
	echo "tinygo: building the compiler (about a minute, once)" >&2
	CGO_ENABLED=1 GOFLAGS= $go -C tools/tinygo build -tags llvm19 -o ../../$out/tinygo github.com/tinygo-org/tinygo
fi
if [ ! -d $out/root/src/net ]; then
	source=$($go -C tools/tinygo list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
	mkdir -p $out/root/lib
	cp -r "$source/src" "$source/targets" $out/root/
	chmod -R u+w $out/root
	mkdir -p $out/root/src/net # its submodule is not in the Go module; plugins do not import it
fi

# TinyGo's own wasip1 target, with Debian's libc and runtime in place of its
# submodules, as a reactor.
libc=$(clang-19 --target=wasm32-wasi -print-file-name=libc.a)
runtime=$(clang-19 --target=wasm32-wasi -rtlib=compiler-rt -print-libgcc-file-name)
cat > $out/plugin.json <<EOF_TARGET
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
EOF_TARGET

# The launcher puts that target in the place of wasip1, which is also the one it
# builds for when none is named.
cat > $bin/tinygo <<'EOF_LAUNCHER'
#!/bin/sh
here=$(dirname "$(dirname "$(readlink -f "$0")")")/tinygo
export TINYGOROOT="$here/root"
[ "${1:-}" = build ] || exec "$here/tinygo" "$@"
shift
case " $* " in
*" -target=wasip1 "*) ;;
*" -target"*) exec "$here/tinygo" build "$@" ;;
esac
for argument; do
	shift
	[ "$argument" = -target=wasip1 ] || set -- "$@" "$argument"
done
exec "$here/tinygo" build -target="$here/plugin.json" "$@"
EOF_LAUNCHER
chmod +x $bin/tinygo
