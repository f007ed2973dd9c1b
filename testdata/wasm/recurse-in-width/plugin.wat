;; A filter that computes for hours without a loop.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  ;; fib of 70 takes hours, no loop in it, and the stack stays shallow
  (func $fib (param $n i64) (result i64)
    (if (result i64) (i64.lt_s (local.get $n) (i64.const 2))
      (then (local.get $n))
      (else (i64.add
        (call $fib (i64.sub (local.get $n) (i64.const 1)))
        (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
  (func (export "anchor_filter") (result i32)
    (drop (call $fib (i64.const 70)))
    (i32.const 0))
)
