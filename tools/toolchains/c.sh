#!/bin/sh
# clang and wasm-ld 19 from Debian's packages, for plugins in C and C++. Leaves
# build/_toolchains/bin/clang and clang++, and wasm-ld, unless the ones on PATH will do.
set -eu
cd "$(dirname "$0")/../.."
bin=build/_toolchains/bin
mkdir -p $bin

# skip REASON leaves: in CI a toolchain that cannot be had is a failure.
skip() {
	echo "c: skipped: $1" >&2
	[ -z "${CI:-}" ]
	exit
}

# works CLANG: does it compile and link WebAssembly?
works() {
	command -v "$1" >/dev/null || return 1
	printf 'int f(void) { return 1; }' |
		"$1" --target=wasm32 -nostdlib -Wl,--no-entry -Wl,--export=f -x c -o $bin/probe.wasm - 2>/dev/null || return 1
	rm -f $bin/probe.wasm
}

# With -B clang finds the linker beside the launcher.
launch() {
	for name in clang clang++; do
		cat > $bin/$name <<END
#!/bin/sh
exec $name-19 -B"\$(dirname "\$(readlink -f "\$0")")" "\$@"
END
		chmod +x $bin/$name
	done
	ln -sf "$(command -v wasm-ld-19)" $bin/wasm-ld
}

if [ -x $bin/clang++ ] && works $bin/clang; then exit 0; fi
rm -f $bin/clang $bin/clang++ $bin/wasm-ld
if command -v clang++ >/dev/null && works clang; then exit 0; fi
if ! command -v clang-19 >/dev/null || ! command -v wasm-ld-19 >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		skip "no clang that builds WebAssembly, and none can be installed here (as root on Debian: apt-get install clang-19 lld-19)"
	fi
	echo "c: installing clang 19 and lld 19 from Debian's packages (about 270 MB, ten seconds)" >&2
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends clang-19 lld-19 >/dev/null
fi
launch
works $bin/clang || { echo "c: clang-19 is there and does not build WebAssembly" >&2; exit 1; }
