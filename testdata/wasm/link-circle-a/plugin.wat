;; One half of a circle: imports from "b", which imports from "a".
(module
  (import "b" "run" (func $other))
  (memory (export "memory") 1)
  (func (export "run") (call $other))
)
