;; A filter that takes 12 more pages with each call and gives none back.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (drop (memory.grow (i32.const 12)))
    (i32.const 1))
)
