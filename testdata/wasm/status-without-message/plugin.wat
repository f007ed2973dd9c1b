;; A filter that fails and does not say why.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (i32.const 7))
)
