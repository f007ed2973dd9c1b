;; Imports a function of the host with another type.
(module
  (import "extism:host/env" "alloc" (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32) (i32.const 1))
)
