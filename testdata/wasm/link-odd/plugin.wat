;; The other half. It has no memory.
(module
  (import "even" "even" (func $even (param i32) (result i32)))
  (func (export "odd") (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (call $even (i32.sub (local.get 0) (i32.const 1))))
      (else (i32.const 0))))
)
