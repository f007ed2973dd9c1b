;; Counts its calls in a global and writes to a table, which no image holds.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (global $n (mut i32) (i32.const 0))
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func $one (export "anchor_filter") (result i32) (i32.const 1))
  (elem declare func $one)
  ;; output: the calls, and whether the table was written to before this one
  (func (export "count") (result i32)
    (local $h i64)
    (global.set $n (i32.add (global.get $n) (i32.const 1)))
    (local.set $h (call $alloc (i64.const 2)))
    (call $store_u8 (local.get $h) (global.get $n))
    (call $store_u8 (i64.add (local.get $h) (i64.const 1)) (i32.eqz (ref.is_null (table.get 0 (i32.const 1)))))
    (table.set 0 (i32.const 1) (ref.func $one))
    (call $output_set (local.get $h) (i64.const 2))
    (i32.const 0))
)
