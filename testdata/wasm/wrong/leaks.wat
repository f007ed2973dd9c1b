;; A filter that lends new memory for every request and takes none back.
(module
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 65536))
  (data (i32.const 16) "\18") ;; the mailbox: size; input and room come with reserve
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (local $more i32) (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.and (i32.add (i32.add (local.get $at) (local.get $n)) (i32.const 7)) (i32.const -8)))
    (local.set $more (i32.sub
      (i32.div_u (i32.add (global.get $top) (i32.const 65535)) (i32.const 65536))
      (memory.size)))
    (if (i32.gt_s (local.get $more) (i32.const 0)) (then
      (if (i32.eq (memory.grow (local.get $more)) (i32.const -1)) (then (return (i32.const 0))))))
    (i32.store (i32.const 20) (local.get $at))
    (i32.store (i32.const 24) (local.get $n))
    (local.get $at))
  (func (export "anchor_batch_filter") (param $p i32) (param $n i32) (result i32)
    (i32.store (i32.const 24) (i32.const 0)) ;; the room is used up
    (i32.const 1))
)
