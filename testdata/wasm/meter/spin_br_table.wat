;; An endless dispatch loop that goes back by br_table only.
(module
  (func (export "run") (local $pc i32)
    (loop $dispatch
      (block $b2 (block $b1 (block $b0
        (br_table $b0 $b1 $b2 (local.get $pc)))
        (local.set $pc (i32.const 1))
        (br_table $dispatch $dispatch (local.get $pc)))
        (local.set $pc (i32.const 2))
        (br_table $dispatch (local.get $pc)))
      (local.set $pc (i32.const 0))
      (br $dispatch))))
