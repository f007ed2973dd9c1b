;; A foreign module that copies from passive segments when it starts and in every
;; call, and then writes over all of it. It starts with writing into its active
;; segment, too.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data $active (i32.const 0) "active  ")
  (data $early "at start")
  (data $late "the call")
  (func $start
    (memory.init $early (i32.const 8) (i32.const 0) (i32.const 8))
    (i32.store16 (i32.const 6) (i32.const 0x2121))) ;; !!
  (start $start)
  ;; output: the active segment, what start copied, what is where nothing was copied
  ;; yet, and what this call copies: all of one segment, then a part of the other
  (func (export "copy") (result i32)
    (local $h i64) (local $at i32)
    (local.set $h (call $alloc (i64.const 40)))
    (memory.init $late (i32.const 24) (i32.const 0) (i32.const 8))
    (memory.init $early (i32.const 32) (i32.const 3) (i32.const 5))
    (loop $next
      (call $store_u64 (i64.add (local.get $h) (i64.extend_i32_u (local.get $at))) (i64.load (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 40))))
    (call $output_set (local.get $h) (i64.const 40))
    (memory.fill (i32.const 0) (i32.const 0x78) (i32.const 65536))
    (i32.const 0))
)
