;; A mailbox in the last bytes of the memory that states more than is there.
(module
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 65512) "\1c") ;; the mailbox: size 28
  (func (export "anchor_abi_1"))
  (func (export "anchor_mailbox") (result i32) (i32.const 65512))
  (func (export "anchor_reserve") (param i32) (result i32) (i32.const 0))
  (func (export "anchor_process") (result i32)
    (call $output_set (call $input_offset) (call $input_length))
    (i32.const 0))
)
