;; house-rules offers one fact that never changes.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 16) "{\"items\":[{\"key\":\"rules\",\"content\":\"Answer in whole sentences.\",\"score\":1}]}")
  (func (export "anchor_abi_1"))
  (func (export "anchor_memory") (result i32)
    (local $at i64) (local $i i32)
    (local.set $at (call $alloc (i64.const 76)))
    (loop $next
      (call $store (i64.add (local.get $at) (i64.extend_i32_u (local.get $i))) (i32.load8_u offset=16 (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 76))))
    (call $output (local.get $at) (i64.const 76))
    (i32.const 0)))
