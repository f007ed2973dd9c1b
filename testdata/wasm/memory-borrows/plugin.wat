;; A foreign module that imports its memory from another, "env", and counts its calls
;; in it. It has data there, also where there is no room before the other has started.
(module
  (import "env" "memory" (memory 1))
  (import "env" "calls" (func $calls (result i32)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (global $count (mut i32) (i32.const 0))
  (data (i32.const 2000) "the borrower's")
  (data (i32.const 131072) "\02")
  ;; changes what its data segments wrote
  (func (export "_initialize") (i32.store8 (i32.const 2000) (i32.const 0x54))) ;; "The borrower's"
  (func $answer (param $at i32) (param $n i32)
    (local $h i64) (local $i i32)
    (local.set $h (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (call $store_u8 (i64.add (local.get $h) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (call $output_set (local.get $h) (i64.extend_i32_u (local.get $n))))
  ;; "lent!", as the other has written it
  (func (export "read") (call $answer (i32.const 0) (i32.const 5)))
  (func (export "data") (call $answer (i32.const 2000) (i32.const 14)))
  ;; output = input, by way of the memory
  (func (export "echo")
    (local $i i32)
    (block $done (loop $next
      (br_if $done (i64.ge_u (i64.extend_i32_u (local.get $i)) (call $input_length)))
      (i32.store8 (i32.add (i32.const 4096) (local.get $i)) (call $input_load_u8 (i64.extend_i32_u (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (if (local.get $i) (then (call $answer (i32.const 4096) (local.get $i)))))
  ;; succeeds if all is as after the start: 3 pages, the data, no call counted anywhere
  (func (export "first") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store8 (i32.const 131072) (i32.add (i32.load8_u (i32.const 131072)) (i32.const 1)))
    (i32.or
      (i32.or (i32.ne (global.get $count) (i32.const 1)) (i32.ne (call $calls) (i32.const 1)))
      (i32.or (i32.ne (memory.size) (i32.const 3)) (i32.ne (i32.load8_u (i32.const 131072)) (i32.const 3)))))
  ;; succeeds if it got 100 pages and both see the same memory beyond the old end
  (func (export "grow") (result i32)
    (if (i32.eq (memory.grow (i32.const 100)) (i32.const -1)) (then (return (i32.const 1))))
    (i32.store (i32.const 6000000) (i32.const 7))
    (i32.ne (i32.load (i32.const 6000000)) (i32.const 7)))
  (func (export "grow_far") (loop $l (br_if $l (i32.ne (memory.grow (i32.const 100)) (i32.const -1)))) (unreachable))
  (func (export "spin") (loop $l (br $l)))
  (func (export "trap") (unreachable))
)
