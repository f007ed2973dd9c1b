;; A retriever in the batch lane that keeps the pointer to its input and writes over it in
;; the next call, and over its last answer.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18\00\00\00@\00\00\00\00 \00\00\00@\00\00X\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (data (i32.const 16384) "ANCC\01\00\00\00 \00\00\00X\00\00\00\01\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\02\00\06\00\00\00\00\00@\00\00\00\08\00\00\00\03\00\07\00\00\00\00\00H\00\00\00\09\00\00\00\00\00\00\00\00\00\e0?\00\00\00\00\01\00\00\00a\00\00\00\00\00\00\00") ;; a change set: an item with the text a
  (global $kept (mut i32) (i32.const 0))
  (global $length (mut i32) (i32.const 0))
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param i32) (result i32) (i32.const 64))
  (func (export "anchor_batch_retrieve") (param $p i32) (param $n i32) (result i32)
    (memory.fill (global.get $kept) (i32.const 0xff) (global.get $length))
    (global.set $kept (local.get $p))
    (global.set $length (local.get $n))
    ;; the text is the next letter with each call
    (i32.store8 (i32.const 16464) (i32.add (i32.load8_u (i32.const 16464)) (i32.const 1)))
    (i32.const 0))
)
