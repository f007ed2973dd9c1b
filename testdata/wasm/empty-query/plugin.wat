;; Enriches a query to no text at all.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"query_str\":\"\"}")
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_enrich_query") (result i32)
    (local $h i64)
    (local.set $h (call $alloc (i64.const 16)))
    (call $store_u64 (local.get $h) (i64.load (i32.const 0)))
    (call $store_u64 (i64.add (local.get $h) (i64.const 8)) (i64.load (i32.const 8)))
    (call $output_set (local.get $h) (i64.const 16))
    (i32.const 0))
)
