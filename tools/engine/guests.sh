#!/bin/sh
# Rebuilds the committed guests of testdata/engine. Needs clang, a Rust compiler,
# AssemblyScript and wat2wasm: see tools/toolchains.
set -eu
cd "$(dirname "$0")/../../testdata/engine"
PATH=$PWD/../../build/_toolchains/bin:$PATH

for program in bytes programs; do
	clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 \
		-o $program.c.wasm programs/c/$program.c
done
rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=2 -C lto=fat -C panic=abort \
	-C strip=symbols -C codegen-units=1 -Clinker=wasm-ld-14 -Clink-arg=-zstack-size=65536 \
	-o programs.rust.wasm programs/rust/programs.rs
asc programs/ts/programs.ts -O3 --runtime incremental --use abort= -o programs.ts.wasm
for guest in hostile jumps circle-a circle-b initialize; do
	wat2wasm --enable-tail-call $guest.wat -o $guest.wasm
done
chmod 644 ./*.wasm
