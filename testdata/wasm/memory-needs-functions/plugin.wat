;; A foreign module that lends its memory to another, "user", from which it imports a
;; function: a circle, but not of memories.
(module
  (import "user" "touch" (func $touch (result i32)))
  (memory (export "memory") 3)
  (data (i32.const 8) "\29")
  (func (export "calls") (result i32) (i32.sub (call $touch) (i32.const 41)))
)
