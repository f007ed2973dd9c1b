;; A filter that fills its stack when it is asked for room, and comes back.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18\00\00\00@\00\00\00\00 \00\00@\00\00\00\00\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))

  ;; frames of more than a page, for what is never done
  (func $many (result
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0))
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)))
  (func $take (param
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128))
  (func $filling (param $left i32)
    (if (i32.lt_s (local.get $left) (i32.const 0)) (then
      (call $many) (call $many) (call $many) (call $many) (call $many)
      (call $take) (call $take) (call $take) (call $take) (call $take)))
    (if (local.get $left) (then (call $filling (i32.sub (local.get $left) (i32.const 1))))))

  (func (export "anchor_reserve") (param i32) (result i32) (call $filling (i32.const 1500)) (i32.const 64))
  (func (export "anchor_batch_filter") (param $p i32) (param $n i32) (result i32) (i32.const 1))
)
