;; Exponential recursion without a loop: depth 60, 2^60 calls.
(module
  (func $f (param i32)
    (if (local.get 0)
      (then
        (call $f (i32.sub (local.get 0) (i32.const 1)))
        (call $f (i32.sub (local.get 0) (i32.const 1))))))
  (func (export "run") (call $f (i32.const 60))))
