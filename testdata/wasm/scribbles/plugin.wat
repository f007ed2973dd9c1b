;; A filter in the batch lane that writes all over its memory, as the score of the
;; first row says: bytes, vectors, words across pages, fills and copies, and into
;; pages it takes.
(module
  (memory (export "memory") 48)
  (data (i32.const 16) "\18\00\00\00\00\00\04\00\00\00\08\00\00\00\00\00\00\00\00\00\00\00\00\00") ;; the mailbox: size, input, room, output, length, 0
  (data (i32.const 1000000) "some data that an engine might write itself")
  (global $seed (mut i64) (i64.const 1))
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param i32) (result i32) (i32.const 262144))
  (func $random (param $below i32) (result i32)
    (global.set $seed (i64.xor (global.get $seed) (i64.shl (global.get $seed) (i64.const 13))))
    (global.set $seed (i64.xor (global.get $seed) (i64.shr_u (global.get $seed) (i64.const 7))))
    (global.set $seed (i64.xor (global.get $seed) (i64.shl (global.get $seed) (i64.const 17))))
    (i32.wrap_i64 (i64.rem_u (i64.shr_u (global.get $seed) (i64.const 8)) (i64.extend_i32_u (local.get $below)))))
  ;; every third page of the first 32 holds something after init
  (func (export "anchor_init") (result i32)
    (local $at i32)
    (loop $next
      (memory.fill (i32.add (i32.const 4096) (local.get $at)) (i32.add (local.get $at) (i32.const 7)) (i32.const 3000))
      (local.set $at (i32.add (local.get $at) (i32.const 12288)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 2000000))))
    (i32.const 0))
  (func $anywhere (result i32) (call $random (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 70000))))
  (func (export "anchor_batch_filter") (param $p i32) (param $n i32) (result i32)
    (local $left i32) (local $at i32)
    ;; the seed is all the bytes of the batch
    (loop $next
      (global.set $seed (i64.add (i64.mul (global.get $seed) (i64.const 31)) (i64.load8_u (i32.add (local.get $p) (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $n))))
    
    (if (i32.eqz (call $random (i32.const 3))) (then (drop (memory.grow (call $random (i32.const 20))))))
    (local.set $left (call $random (i32.const 60)))
    (loop $next
      (i32.store8 (call $anywhere) (call $random (i32.const 256)))
      (i64.store (i32.sub (i32.and (i32.add (call $anywhere) (i32.const 8192)) (i32.const -4096)) (i32.const 3)) (global.get $seed))
      (v128.store (call $anywhere) (i64x2.splat (global.get $seed)))
      (memory.fill (call $anywhere) (call $random (i32.const 256)) (call $random (i32.const 9000)))
      (memory.copy (call $anywhere) (call $anywhere) (call $random (i32.const 9000)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $next (i32.gt_s (local.get $left) (i32.const 0))))
    (if (i32.eqz (call $random (i32.const 4))) (then unreachable))
    (i32.const 1))
)
