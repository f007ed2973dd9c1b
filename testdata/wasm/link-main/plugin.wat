;; A foreign module that imports from another, "lib".
(module
  (import "lib" "shout" (func $shout (param i64) (result i64)))
  (import "lib" "spin" (func $spin))
  (import "lib" "grow" (func $grow (param i32) (result i32)))
  (import "lib" "starts" (func $starts (result i32)))
  (import "lib" "calls" (func $calls (result i32)))
  (import "lib" "trap" (func $trap))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "main's own memory")
  ;; the output is the input in the other module's words
  (func (export "run") (result i32)
    (local $h i64)
    (local.set $h (call $shout (call $input_offset)))
    (call $output_set (local.get $h) (call $length (local.get $h)))
    (i32.ne (i32.load8_u (i32.const 0)) (i32.const 0x6d))) ;; "m": its memory is not the other's
  (func (export "spin") (call $spin))
  (func (export "trap") (call $trap))
  (func (export "grow") (result i32) (i32.eq (call $grow (i32.const 100)) (i32.const -1)))
  (func (export "grow_far") (result i32)
    (loop $l (br_if $l (i32.ne (call $grow (i32.const 100)) (i32.const -1))))
    (unreachable))
  ;; succeeds if the other is as after its start
  (func (export "first") (result i32) (i32.ne (call $calls) (i32.const 2)))
  ;; succeeds if start section and _initialize of the other have run once each
  (func (export "started") (result i32) (i32.ne (call $starts) (i32.const 11)))
)
