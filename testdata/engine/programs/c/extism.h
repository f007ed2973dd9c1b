// The functions of Extism that the programs here need, and how they answer.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(#name)))

IMPORT(alloc) u64 extism_alloc(u64 size);
IMPORT(store_u8) void extism_store_u8(u64 at, u32 byte);
IMPORT(store_u64) void extism_store_u64(u64 at, u64 bytes);
IMPORT(load_u8) u32 extism_load_u8(u64 at);
IMPORT(input_load_u64) u64 extism_input_load_u64(u64 at);
IMPORT(output_set) void extism_output_set(u64 at, u64 size);

// answer sets eight bytes as output.
static int answer(u64 result) {
	u64 at = extism_alloc(8);
	extism_store_u64(at, result);
	extism_output_set(at, 8);
	return 0;
}
