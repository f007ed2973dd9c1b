;; A filter that says three times which column it read although it was not sent: metadata, which
;; its manifest does not name, score, which it does, and a column that does not exist.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "log_warn" (func $log_warn (param i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "anchor: column metadata was not sent")
  (data (i32.const 64) "anchor: column score was not sent")
  (data (i32.const 128) "anchor: column nothing was not sent")
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func $warn (param $at i32) (param $n i32)
    (local $h i64) (local $i i32)
    (local.set $h (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (call $store_u8
        (i64.add (local.get $h) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (call $log_warn (local.get $h)))
  (func (export "anchor_filter") (result i32)
    (call $warn (i32.const 0) (i32.const 36))
    (call $warn (i32.const 64) (i32.const 33))
    (call $warn (i32.const 128) (i32.const 35))
    (i32.const 1)) ;; no change
)
