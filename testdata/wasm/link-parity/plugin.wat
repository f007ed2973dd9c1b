;; Imports from a circle of two modules.
(module
  (import "even" "even" (func $even (param i32) (result i32)))
  (import "odd" "odd" (func $odd (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "run") (result i32)
    (if (i32.ne (call $even (i32.const 500)) (i32.const 1)) (then (return (i32.const 1))))
    (if (i32.ne (call $even (i32.const 501)) (i32.const 0)) (then (return (i32.const 2))))
    (i32.ne (call $odd (i32.const 501)) (i32.const 1)))
)
