;; A filter that never returns.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again (br $again))
    (i32.const 0))
)
