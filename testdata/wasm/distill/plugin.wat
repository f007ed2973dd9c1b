;; A distiller that notes "noted" and draws "drawn" from notes, whatever it is sent.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\22add\22:[\22noted\22]}{\22reflection\22:\22drawn\22}")
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
  (func (export "anchor_distill") (result i32)
    ;; the first letter of the mode, after {"mode":"
    (if (i32.eq (call $input (i64.const 9)) (i32.const 114)) ;; r
      (then (call $output_set (call $block (i32.const 17) (i32.const 22)) (i64.const 22)))
      (else (call $output_set (call $block (i32.const 0) (i32.const 17)) (i64.const 17))))
    (i32.const 0))
)
