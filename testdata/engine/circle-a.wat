;; One half of a circle: imports from "b", which imports from "a".
(module
  (import "b" "step" (func $step (param i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "back") (param i64) (result i64) (i64.add (local.get 0) (i64.const 1)))

  ;; each turn goes through the circle and comes back
  (func (export "circle_loop") (result i32) (local $n i64)
    (loop $again
      (local.set $n (call $step (local.get $n)))
      (br $again))
    (unreachable))
)
