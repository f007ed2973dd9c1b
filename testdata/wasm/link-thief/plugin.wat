;; Wants what the host adds to a linked module: the function that starts it.
(module
  (import "lib" "anchor:start" (func))
  (memory (export "memory") 1)
  (func (export "run"))
)
