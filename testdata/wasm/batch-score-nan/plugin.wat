;; A reranker that gives a score that is not a number.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18\00\00\00@\00\00\00\00 \00\00\00@\00\00P\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (data (i32.const 16384) "ANCC\01\00\00\00 \00\00\00P\00\00\00\00\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\07\02\03\00\00\00\00\00@\00\00\00\04\00\00\00\08\02\06\00\00\00\00\00H\00\00\00\08\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\f8\7f") ;; a change set
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param i32) (result i32) (i32.const 64))
  (func (export "anchor_batch_rerank") (param $p i32) (param $n i32) (result i32)
    (i32.const 0))
)
