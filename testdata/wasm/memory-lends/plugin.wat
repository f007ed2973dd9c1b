;; A foreign module that others import their memory from.
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "lent")
  (data (i32.const 2000) "the lender's")
  ;; grows when it starts, so that there is room for the data of "memory-borrows"
  (func (export "_initialize")
    (drop (memory.grow (i32.const 2)))
    (i32.store8 (i32.const 4) (i32.const 0x21))) ;; "lent!"
  (func (export "calls") (result i32)
    (i32.store (i32.const 100) (i32.add (i32.load (i32.const 100)) (i32.const 1)))
    (i32.load (i32.const 100)))
)
