;; A step that adds 10,001 items of one letter each.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\18") ;; the mailbox: size; input and room come with reserve
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  ;; lends the memory behind the first page, as much as is asked for
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (local $more i32)
    (local.set $more (i32.sub
      (i32.div_u (i32.add (local.get $n) (i32.const 131071)) (i32.const 65536))
      (memory.size)))
    (if (i32.gt_s (local.get $more) (i32.const 0)) (then
      (if (i32.eq (memory.grow (local.get $more)) (i32.const -1)) (then (return (i32.const 0))))))
    (i32.store (i32.const 20) (i32.const 65536))
    (i32.store (i32.const 24) (local.get $n))
    (i32.const 65536))
  (global $at (mut i32) (i32.const 0)) ;; where the change set is
  (func (export "anchor_batch_process") (param $p i32) (param $n i32) (result i32)
    (local $o i32) (local $i i32)
    ;; a change set with the section text: 10,002 offsets, then the letters
    (if (i32.eqz (global.get $at)) (then
      (global.set $at (i32.mul (memory.size) (i32.const 65536)))
      (drop (memory.grow (i32.const 2)))))
    (local.set $o (global.get $at))
    (i32.store (local.get $o) (i32.const 0x43434e41))
    (i32.store offset=4 (local.get $o) (i32.const 1))
    (i32.store offset=8 (local.get $o) (i32.const 32))
    (i32.store offset=12 (local.get $o) (i32.const 50064))
    (i32.store offset=16 (local.get $o) (i32.const 10001))
    (i32.store offset=20 (local.get $o) (i32.const 1))
    (i32.store offset=32 (local.get $o) (i32.const 0x70003))
    (i32.store offset=40 (local.get $o) (i32.const 48))
    (i32.store offset=44 (local.get $o) (i32.const 50009))
    (loop $next
      (i32.store offset=48 (i32.add (local.get $o) (i32.mul (local.get $i) (i32.const 4))) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.le_u (local.get $i) (i32.const 10001))))
    (memory.fill (i32.add (local.get $o) (i32.const 40056)) (i32.const 97) (i32.const 10001))
    (i32.store (i32.const 28) (local.get $o))
    (i32.store (i32.const 32) (i32.const 50064))
    (return (i32.const 0))
    (i32.const 1))
)
