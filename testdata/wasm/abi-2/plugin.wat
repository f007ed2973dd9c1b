;; Speaks a version of the contract that this host does not.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_2")) ;; a version of the contract that does not exist
  (func (export "anchor_filter") (result i32) (i32.const 1))
)
