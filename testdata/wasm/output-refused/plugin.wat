;; A filter that sets an output for which it was refused memory.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (call $output_set (call $alloc (i64.const 1000000000)) (i64.const 1000000000))
    (i32.const 0))
)
