;; A filter that asks for memory until the end of its time, though it is refused.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again
      (drop (memory.grow (i32.const 1)))
      (br $again))
    unreachable)
)
