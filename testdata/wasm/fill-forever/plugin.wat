;; A filter that fills the whole of a large memory without end.
(module
  (memory (export "memory") 500)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again
      (memory.fill (i32.const 0) (i32.const 7) (i32.mul (memory.size) (i32.const 65536)))
      (br $again))
    unreachable)
)
