;; A foreign module for link-circle-a. The start of its language runtime calls itself until the stack is full.
(module
  (func $down (param i64) (result i64)
    (i64.add (call $down (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
  (func (export "_initialize") (drop (call $down (i64.const 0))))
  (func (export "run"))
)
