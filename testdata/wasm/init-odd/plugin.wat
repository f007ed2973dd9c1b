;; The start of its language runtime has parameters that nobody has.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (global $order (mut i64) (i64.const 0))
  (func $note (param i64) (global.set $order (i64.or (i64.shl (global.get $order) (i64.const 8)) (local.get 0))))
  (func $start (call $note (i64.const 0x31)))
  (start $start)
  (func (export "hs_init") (param i64 i64 i64 i64 i64) (call $note (i64.const 0x34)) )
  ;; the order in which they ran, the last first
  (func (export "order") (result i32)
    (local $h i64)
    (local.set $h (call $alloc (i64.const 8)))
    (call $store_u64 (local.get $h) (global.get $order))
    (call $output_set (local.get $h) (i64.const 8))
    (i32.const 0))
)
