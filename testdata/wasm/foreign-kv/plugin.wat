;; A foreign module that reads and writes the key-value store. Its start stores
;; "loaded" and keeps what it read there before; hoard keeps what it reads.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "anchor_kv_get" (func $kv_get (param i64) (result i64)))
  (import "extism:host/user" "anchor_kv_set" (func $kv_set (param i64 i64) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "loaded")
  ;; what is kept: the first byte of a value
  (global $kept (mut i32) (i32.const 0))
  ;; a block of the bytes from $from to $to of the input
  (func $part (param $from i64) (param $to i64) (result i64)
    (local $h i64) (local $i i64)
    (local.set $h (call $alloc (i64.sub (local.get $to) (local.get $from))))
    (block $done (loop $next
      (br_if $done (i64.ge_u (i64.add (local.get $from) (local.get $i)) (local.get $to)))
      (call $store_u8 (i64.add (local.get $h) (local.get $i))
        (call $input_load_u8 (i64.add (local.get $from) (local.get $i))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
    (local.get $h))
  (func $keep (param $value i64)
    (if (i64.ne (local.get $value) (i64.const 0))
      (then (global.set $kept (call $load_u8 (local.get $value))))))
  (func (export "_initialize")
    (local $key i64) (local $i i32)
    (local.set $key (call $alloc (i64.const 6)))
    (loop $next
      (call $store_u8 (i64.add (local.get $key) (i64.extend_i32_u (local.get $i))) (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 6))))
    (call $keep (call $kv_get (local.get $key)))
    (drop (call $kv_set (local.get $key) (local.get $key))))
  ;; the value of the key that is the input
  (func (export "get") (result i32)
    (local $h i64)
    (local.set $h (call $kv_get (call $input_offset)))
    (call $output_set (local.get $h) (call $length (local.get $h)))
    (i32.const 0))
  ;; stores "key=value"; the status is the host's
  (func (export "set") (result i32)
    (local $i i64)
    (loop $next
      (if (i32.ne (call $input_load_u8 (local.get $i)) (i32.const 61)) (then
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br_if $next (i64.lt_u (local.get $i) (call $input_length))))))
    (call $kv_set
      (call $part (i64.const 0) (local.get $i))
      (call $part (i64.add (local.get $i) (i64.const 1)) (call $input_length))))
  (func (export "hoard") (result i32)
    (call $keep (call $kv_get (call $input_offset)))
    (i32.const 0))
  ;; what is kept, nothing where that is 0
  (func (export "kept") (result i32)
    (local $h i64)
    (if (global.get $kept) (then
      (local.set $h (call $alloc (i64.const 1)))
      (call $store_u8 (local.get $h) (global.get $kept))
      (call $output_set (local.get $h) (i64.const 1))))
    (i32.const 0))
)
