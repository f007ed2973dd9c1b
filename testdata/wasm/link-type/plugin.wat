;; Imports a function of another module with another type.
(module
  (import "lib" "shout" (func (param i32)))
  (memory (export "memory") 1)
  (func (export "run"))
)
