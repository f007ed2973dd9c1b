;; Misspells a function of the host.
(module
  (import "extism:host/env" "config_gett" (func (param i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32) (i32.const 1))
)
