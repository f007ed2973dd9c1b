;; Two functions that call each other through the table, 2^60 calls.
(module
  (type $t (func (param i32)))
  (table 2 funcref)
  (elem (i32.const 0) $even $odd)
  (func $even (type $t)
    (if (local.get 0)
      (then
        (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1))
        (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1)))))
  (func $odd (type $t)
    (if (local.get 0)
      (then
        (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))
        (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
  (func (export "run") (call $even (i32.const 60))))
