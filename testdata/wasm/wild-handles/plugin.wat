;; A filter that passes handles that were never given to it; nothing must
;; happen.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "config_get" (func $config_get (param i64) (result i64)))
  (import "extism:host/env" "var_get" (func $var_get (param i64) (result i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (local $h i64)
    (call $free (i64.const 0xdeadbeef))
    (call $free (i64.const -1))
    (drop (call $length (i64.const 0x7fffffffffffffff)))
    (drop (call $load_u64 (i64.const -4)))
    (call $store_u64 (i64.const -4) (i64.const 1))
    (call $store_u64 (i64.const 0) (i64.const -1))
    (drop (call $input_load_u64 (i64.const -1)))
    (call $error_set (i64.const 0x123456))
    (drop (call $config_get (i64.const -9)))
    (drop (call $var_get (i64.const 3)))
    (call $log_info (i64.const 77))
    (local.set $h (call $alloc (i64.const 8)))
    (call $free (local.get $h)) ;; once
    (call $free (local.get $h)) ;; and again
    (if (i64.ne (call $length (local.get $h)) (i64.const 0)) (then unreachable))
    (i32.const 1))
)
