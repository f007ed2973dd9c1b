;; A foreign module whose start section goes 100,000 calls deep, and comes back.
(module
  (memory (export "memory") 1)
  (func $down (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
      (else (i32.const 0))))
  (func $start (drop (call $down (i32.const 100000))))
  (start $start)
  (func (export "run") (result i32) (i32.const 0))
)
