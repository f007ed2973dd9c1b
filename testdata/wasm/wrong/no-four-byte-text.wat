;; A filter that knows no characters of four bytes.
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
  (func (export "anchor_batch_filter") (param $p i32) (param $n i32) (result i32)
    (local $i i32)
    (local.set $i (i32.load offset=40 (local.get $p))) ;; where the first section is: text
    (local.set $n (i32.add (local.get $i) (i32.load offset=44 (local.get $p))))
    (local.set $i (i32.add (local.get $i) (i32.mul (i32.const 4) (i32.add (i32.const 1) (i32.load offset=16 (local.get $p))))))
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n)) (then
        (if (i32.eq (i32.load8_u (i32.add (local.get $p) (local.get $i))) (i32.const 240)) (then (unreachable)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (i32.const 1))
)
