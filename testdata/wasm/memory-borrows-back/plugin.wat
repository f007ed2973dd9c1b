;; The other half of the circle of memory-needs-functions.
(module
  (import "env" "memory" (memory 1))
  (export "memory" (memory 0))
  ;; writes where the owner of the memory reads
  (func (export "touch") (result i32)
    (i32.store8 (i32.const 8) (i32.add (i32.load8_u (i32.const 8)) (i32.const 1)))
    (i32.load8_u (i32.const 8)))
)
