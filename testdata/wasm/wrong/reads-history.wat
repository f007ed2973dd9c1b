;; A filter that drops everything if the query has a conversation, which its manifest does not read.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\"chat_hi")
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  ;; whether the input has the text of the memory at $at
  (func $has (param $at i64) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.ne (call $input_load_u8 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i)))) (i32.load8_u (local.get $i)))
        (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 8))))
    (i32.const 1))
  (func (export "anchor_filter") (result i32)
    (local $at i64) (local $h i64)
    (loop $next
      (if (i64.gt_u (i64.add (local.get $at) (i64.const 8)) (call $input_length)) (then (return (i32.const 1))))
      (if (call $has (local.get $at)) (then
        (local.set $h (call $alloc (i64.const 11)))
        (call $store_u64 (local.get $h) (i64.const 0x3a227065656b227b)) ;; {"keep":
        (call $store_u8 (i64.add (local.get $h) (i64.const 8)) (i32.const 91))
        (call $store_u8 (i64.add (local.get $h) (i64.const 9)) (i32.const 93))
        (call $store_u8 (i64.add (local.get $h) (i64.const 10)) (i32.const 125))
        (call $output_set (local.get $h) (i64.const 11))
        (return (i32.const 0))))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br $next))
    (unreachable))
)
