;; A retriever that keeps the handle of its last answer and writes to it, frees it twice and
;; answers with it in the next call, before it answers as it should.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\22items\22:[{\22key\22:\22a\22,\22content\22:\22a\22,\22score\22:0.5}]}")
  (global $kept (mut i64) (i64.const 0))
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  ;; copies $n bytes at $p into a block of the host and returns its handle
  (func $block (param $p i32) (param $n i32) (result i64)
    (local $h i64) (local $i i32)
    (local.set $h (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n)) (then
        (call $store_u8
          (i64.add (local.get $h) (i64.extend_i32_u (local.get $i)))
          (i32.load8_u (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (local.get $h))
  (func (export "anchor_retrieve") (result i32)
    (if (i64.ne (call $length (global.get $kept)) (i64.const 0)) (then unreachable)) ;; it names nothing
    (call $store_u64 (global.get $kept) (i64.const -1))
    (call $store_u64 (i64.add (global.get $kept) (i64.const 32)) (i64.const -1))
    (call $output_set (global.get $kept) (i64.const 49))
    (call $free (global.get $kept))
    (call $free (global.get $kept))
    ;; the text is the next letter with each call
    (i32.store8 (i32.const 32) (i32.add (i32.load8_u (i32.const 32)) (i32.const 1)))
    (global.set $kept (call $block (i32.const 0) (i32.const 49)))
    (call $output_set (global.get $kept) (i64.const 49))
    (i32.const 0))
)
