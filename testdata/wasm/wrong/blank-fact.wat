;; An extractor whose only fact has no text.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\22add\22: [{}]}")
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
  (func (export "anchor_extract") (result i32)
    (call $output_set (call $block (i32.const 0) (i32.const 13)) (i64.const 13))
    (i32.const 0))
)
