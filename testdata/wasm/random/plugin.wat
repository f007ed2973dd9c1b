;; A foreign module that answers 16 random bytes and the time.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  ;; copies $n bytes at $p into a block of the host and returns its handle
  (func $block (param $p i32) (param $n i32) (result i64)
    (local $h i64) (local $i i32)
    (local.set $h (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n)) (then
        (call $store_u8
          (i64.add (local.get $h) (i64.extend_i32_u (local.get $i)))
          (i32.load8_u (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (local.get $h))
  (func (export "random_and_clock") (result i32)
    (drop (call $random_get (i32.const 0) (i32.const 16)))
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 16)))
    (call $output_set (call $block (i32.const 0) (i32.const 24)) (i64.const 24))
    (i32.const 0))
)
