;; A filter that says it is done and gives no answer.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (i32.const 0) ;; done, but no output
  )
)
