;; A foreign module that uses the kernel in every way, and on request without
;; end.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (memory (export "memory") 1)
  ;; the output is the input's own block, without its first byte
  (func (export "tail")
    (if (i64.gt_u (call $input_length) (i64.const 1)) (then
      (call $output_set (i64.add (call $input_offset) (i64.const 1)) (i64.sub (call $input_length) (i64.const 1))))))
  ;; echo by words; the rest beyond the last whole word is left zero
  (func (export "words") (result i32)
    (local $h i64) (local $i i64)
    (local.set $h (call $alloc (call $input_length)))
    (block $done (loop $next
      (br_if $done (i64.gt_u (i64.add (local.get $i) (i64.const 8)) (call $input_length)))
      (call $store_u64 (i64.add (local.get $h) (local.get $i)) (call $input_load_u64 (local.get $i)))
      (local.set $i (i64.add (local.get $i) (i64.const 8)))
      (br $next)))
    (call $output_set (local.get $h) (call $length (local.get $h)))
    (call $free (local.get $h)) ;; as some kits do
    (i32.const 0))
  ;; frees the input, twice, and reads it
  (func (export "free_input") (result i32)
    (call $free (call $input_offset))
    (call $free (call $input_offset))
    (drop (call $input_load_u64 (i64.const 0)))
    (i32.or (i32.wrap_i64 (call $input_length)) (i32.wrap_i64 (call $length (call $input_offset)))))
  ;; fails with the input as the message, which it frees
  (func (export "fail") (result i32)
    (call $error_set (call $input_offset))
    (call $free (call $input_offset))
    (i32.const 3))
  ;; an error with status 0 is an error
  (func (export "fail_quietly") (result i32) (call $error_set (call $input_offset)) (i32.const 0))
  ;; an error that is taken back is none
  (func (export "recover") (result i32)
    (call $error_set (call $input_offset)) (call $error_set (i64.const 0)) (i32.const 0))
  (func (export "log") (call $log_info (call $input_offset)))
  ;; the number of MiB in three digits of input
  (func $mib (result i32)
    (i32.add (i32.mul (call $digit (i64.const 0)) (i32.const 100))
      (i32.add (i32.mul (call $digit (i64.const 1)) (i32.const 10)) (call $digit (i64.const 2)))))
  (func $digit (param i64) (result i32) (i32.sub (call $input_load_u8 (local.get 0)) (i32.const 48)))
  ;; holds as many MiB in blocks of one; a block that is not there traps
  (func (export "hold") (result i32)
    (local $n i32) (local $h i64)
    (local.set $n (call $mib))
    (if (i32.gt_u (local.get $n) (i32.const 999)) (then (return (i32.const 1))))
    (block $done (loop $next
      (br_if $done (i32.eqz (local.get $n)))
      (local.set $h (call $alloc (i64.const 1048560)))
      (if (i64.eqz (local.get $h)) (then unreachable))
      (call $store_u64 (local.get $h) (i64.const -1))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $next)))
    (i32.const 0))
  ;; grows its own memory by as many MiB
  (func (export "grow") (result i32)
    (i32.eq (memory.grow (i32.mul (i32.const 16) (call $mib))) (i32.const -1)))
  (func (export "reuse_forever") (result i32)
    (loop $l (call $free (call $alloc (i64.const 8000000))) (br $l)) (i32.const 0))
  (func (export "load_forever") (result i32)
    (loop $l (drop (call $load_u64 (call $input_offset))) (drop (call $load_u8 (i64.const -1))) (br $l)) (i32.const 0))
  (func (export "error_forever") (result i32)
    (loop $l (call $error_set (call $input_offset)) (br $l)) (i32.const 0))
)
