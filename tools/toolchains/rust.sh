#!/bin/sh
# A Rust compiler with the target wasm32-unknown-unknown, for plugins in Rust:
# the one on PATH if it has the target, else Debian's 1.63 behind launchers
# build/_toolchains/bin/cargo and rustc.
set -eu
cd "$(dirname "$0")/../.."
bin=build/_toolchains/bin
target=wasm32-unknown-unknown
packages="rustc cargo libstd-rust-dev-wasm32 lld-14"
mkdir -p $bin

# skip REASON leaves: in CI a toolchain that cannot be had is a failure.
skip() {
	echo "rust: skipped: $1" >&2
	[ -z "${CI:-}" ]
	exit
}

# has RUSTC: does it compile for the target? A library of another version is no library.
has() {
	command -v "$1" >/dev/null || return 1
	if said=$(echo 'pub fn f() {}' | "$1" --target $target --crate-type rlib --emit metadata -o $bin/probe.rmeta - 2>&1); then
		rm -f $bin/probe.rmeta
		return 0
	fi
	case $said in *E0786* | *E0514* | *E0460*)
		echo "rust: $1 and its standard library for $target are of different versions: install both from one place, in one version" >&2 ;;
	esac
	return 1
}

if [ -x $bin/cargo ] && has $bin/rustc; then exit 0; fi
rm -f $bin/cargo $bin/rustc
if command -v cargo >/dev/null && has rustc; then exit 0; fi
if ! [ -x /usr/bin/cargo ] || ! has /usr/bin/rustc || ! command -v wasm-ld-14 >/dev/null; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		skip "no rustc with $target, and none can be installed here (rustup target add $target, or as root on Debian: apt-get install $packages)"
	fi
	echo "rust: installing Rust 1.63 and lld 14 from Debian's packages (about 550 MB, half a minute)" >&2
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
	has /usr/bin/rustc || skip "/usr/bin/rustc does not compile for $target (as root on Debian: apt-get install --reinstall $packages)"
fi

# Debian's rustc has no linker for WebAssembly of its own, and reads only the
# archives of LLVM 14. A rustup on the same PATH is left alone.
cat > $bin/rustc <<'END'
#!/bin/sh
exec /usr/bin/rustc "$@"
END
cat > $bin/cargo <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export RUSTC="$here/rustc" CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-14 CARGO_TARGET_WASM32_WASI_LINKER=wasm-ld-14
exec /usr/bin/cargo "$@"
END
chmod +x $bin/rustc $bin/cargo
