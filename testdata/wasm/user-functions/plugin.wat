;; A foreign module that imports functions of its embedder.
(module
  (import "extism:host/user" "greet" (func $greet (param i64) (result i64)))
  (import "calc" "add" (func $add (param f64 f64) (result f64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "greet") (result i32)
    (local $h i64)
    (local.set $h (call $greet (call $input_offset)))
    (call $output_set (local.get $h) (call $length (local.get $h)))
    (i32.const 0))
  ;; a handle that is none
  (func (export "greet_wild") (result i32) (i32.wrap_i64 (call $greet (i64.const -1))))
  ;; 1.5 + 2.25 = 3.75
  (func (export "add") (result i32)
    (f64.ne (call $add (f64.const 1.5) (f64.const 2.25)) (f64.const 3.75)))
  (func (export "add_forever") (loop $l (drop (call $add (f64.const 1) (f64.const 1))) (br $l)))
)
