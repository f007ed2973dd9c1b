;; A filter that never answers when it is asked for room, of which it lends enough.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18\00\00\00@\00\00\00\00 \00\00\00@\00\008\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (data (i32.const 16384) "ANCC\01\00\00\00 \00\00\008\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\02\03\00\00\00\00\000\00\00\00\04\00\00\00\00\00\00\00\00\00\00\00") ;; a change set
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param i32) (result i32)
    (loop $again (br $again))
    unreachable)
  (func (export "anchor_batch_filter") (param $p i32) (param $n i32) (result i32)
    (i32.const 0))
)
