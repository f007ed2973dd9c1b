;; A filter that moves the whole of a large memory by a byte without end.
(module
  (memory (export "memory") 500)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again
      (memory.copy (i32.const 1) (i32.const 0) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)))
      (br $again))
    unreachable)
)
