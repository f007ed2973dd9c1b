;; Functions that never end by themselves, by the jumps that few compilers make.
(module
  (memory (export "memory") 1)

  ;; a jump by a table, back to the loop whatever is chosen
  (func (export "br_table_loop") (result i32) (local $i i32)
    (loop $outer
      (loop $inner
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_table $inner $outer $inner (i32.and (local.get $i) (i32.const 3)))))
    (unreachable))

  ;; a recursion that takes no stack
  (func $tail (param $n i64) (result i64)
    (return_call $tail (i64.add (local.get $n) (i64.const 1))))
  (func (export "tail_recursion") (result i32)
    (drop (call $tail (i64.const 0)))
    (unreachable))
)
