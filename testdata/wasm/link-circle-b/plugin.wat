;; One half of a circle: imports from "a", which imports from "b".
(module
  (import "a" "run" (func $other))
  (memory (export "memory") 1)
  (func (export "run") (call $other))
)
