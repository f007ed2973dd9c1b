;; The other half: imports from "a", which imports from "b".
(module
  (import "a" "back" (func $back (param i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "step") (param i64) (result i64) (call $back (local.get 0)))
)
