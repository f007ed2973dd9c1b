;; Half of a circle of modules that lend each other the memory that none of them has.
(module
  (import "b" "memory" (memory 1))
  (export "memory" (memory 0))
  (func (export "run"))
)
