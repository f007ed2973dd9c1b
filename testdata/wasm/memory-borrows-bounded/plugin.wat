;; Imports a memory with a maximum, which that of the other module does not have.
(module
  (import "env" "memory" (memory 1 16))
  (func (export "run"))
)
