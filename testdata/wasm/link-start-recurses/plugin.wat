;; A foreign module for link-circle-a whose start section calls itself until the stack is full.
(module
  (func $down (param i64) (result i64)
    (i64.add (call $down (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
  (func $start (drop (call $down (i64.const 0))))
  (start $start)
  (func (export "run"))
)
