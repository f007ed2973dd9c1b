// Programs that compute in AssemblyScript, each of the size its input says. They
// answer a checksum.

@external("extism:host/env", "alloc") declare function extismAlloc(size: u64): u64;
@external("extism:host/env", "store_u64") declare function storeU64(at: u64, bytes: u64): void;
@external("extism:host/env", "input_load_u64") declare function inputLoadU64(at: u64): u64;
@external("extism:host/env", "output_set") declare function outputSet(at: u64, size: u64): void;

function size(): i32 {
  return i32(inputLoadU64(0));
}

function answer(sum: u64): i32 {
  const at = extismAlloc(8);
  storeU64(at, sum);
  outputSet(at, 8);
  return 0;
}

let seed: u32 = 1;

function next(): u32 {
  seed = seed * 1664525 + 1013904223;
  return seed;
}

// A hash of n KiB.
export function hash(): i32 {
  const bytes = new Uint8Array(size() << 10);
  seed = 1;
  for (let i = 0; i < bytes.length; i++) bytes[i] = u8(next() >> 24);
  let h: u64 = 0xcbf29ce484222325;
  for (let i = 0; i < bytes.length; i++) h = (h ^ u64(bytes[i])) * 0x100000001b3;
  return answer(h);
}

// Sorts n numbers.
export function sort(): i32 {
  const xs = new Array<u32>(size());
  seed = 7;
  for (let i = 0; i < xs.length; i++) xs[i] = next();
  xs.sort((a, b) => i32(a > b) - i32(a < b));
  let sum: u64 = 0;
  for (let i = 0; i < xs.length; i++) sum = sum * 31 + xs[i];
  return answer(sum);
}

function fib(n: i32): i32 {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

// The number of Fibonacci with that index, by recursion.
export function recursion(): i32 {
  return answer(fib(size()));
}

// Builds and splits texts, n times.
export function strings(): i32 {
  let sum: u64 = 0;
  for (let i = 0; i < size(); i++) {
    const words = ("item " + i.toString() + " of a window").split(" ");
    sum += words.length + words[1].length + words.join("-").indexOf("window");
  }
  return answer(sum);
}
