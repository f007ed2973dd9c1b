;; A filter that grows a table without end, and traps if it gets more than 1,048,576 elements.
(module
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $again
      (drop (table.grow $t (ref.null func) (i32.const 1000)))
      (br_if $again (i32.le_u (table.size $t) (i32.const 1048576))))
    unreachable)
)
