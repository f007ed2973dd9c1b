;; A filter with a counter of fuel of its own, by the name of the host's.
(module
  (memory (export "memory") 1)
  (global (export "anchor:fuel") (mut i64) (i64.const 0x7fffffffffffffff))
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again (br $again))
    (i32.const 1))
)
