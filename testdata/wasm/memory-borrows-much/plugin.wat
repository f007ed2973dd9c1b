;; Imports more memory than the other module begins with.
(module
  (import "env" "memory" (memory 2))
  (func (export "run"))
)
