;; Calls a host function through the table, again and again.
(module
  (type $t (func))
  (import "env" "nop" (func $nop))
  (table 1 funcref)
  (elem (i32.const 0) $nop)
  (func (export "run") (loop $l (call_indirect (type $t) (i32.const 0)) (br $l))))
