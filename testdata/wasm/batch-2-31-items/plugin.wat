;; A retriever that claims to add 2^31 items.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18\00\00\00@\00\00\00\00 \00\00\00@\00\00X\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (data (i32.const 16384) "ANCC\01\00\00\00 \00\00\00X\00\00\00\00\00\00\80\02\00\00\00\00\00\00\00\00\00\00\00\02\00\06\00\00\00\00\00@\00\00\00\08\00\00\00\03\00\07\00\00\00\00\00H\00\00\00\09\00\00\00\00\00\00\00\00\00\e0?\00\00\00\00\01\00\00\00x\00\00\00\00\00\00\00") ;; a change set
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param i32) (result i32) (i32.const 64))
  (func (export "anchor_batch_retrieve") (param $p i32) (param $n i32) (result i32)
    (i32.const 0))
)
