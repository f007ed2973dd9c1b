;; A foreign module that lends on the memory it imports, and counts its calls in it.
(module
  (import "lib" "memory" (memory 1))
  (export "memory" (memory 0))
  (data (i32.const 2000) "the middleman's")
  (func (export "calls") (result i32)
    (i32.store (i32.const 104) (i32.add (i32.load (i32.const 104)) (i32.const 1)))
    (i32.load (i32.const 104)))
)
