;; A filter that logs why in two lines before it traps, as Rust does.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "log_error" (func $log_error (param i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "panicked at src/lib.rs:7:21:\0aindex  out of bounds")
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func $filter (export "anchor_filter") (result i32)
    (local $h i64) (local $i i32)
    (local.set $h (call $alloc (i64.const 49)))
    (loop $next
      (call $store_u8
        (i64.add (local.get $h) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 49))))
    (call $log_error (local.get $h))
    unreachable)
)
