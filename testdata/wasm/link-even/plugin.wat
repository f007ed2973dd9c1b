;; Half of a circle that ends: imports from "odd", which imports from "even".
(module
  (import "odd" "odd" (func $odd (param i32) (result i32)))
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "_initialize") (global.set $calls (call $odd (i32.const 3)))) ;; the circle is closed already
  (func (export "even") (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (call $odd (i32.sub (local.get 0) (i32.const 1))))
      (else (i32.const 1))))
)
