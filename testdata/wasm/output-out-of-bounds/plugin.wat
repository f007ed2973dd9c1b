;; A filter whose output lies outside the memory of the host.
(module
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (call $output_set (i64.const 16) (i64.const 0x100000000)) ;; 4 GiB
    (i32.const 0))
)
