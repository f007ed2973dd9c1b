;; Exports an operation with another type than the contract states.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (param i32) (result i32) (i32.const 1))
)
