;; Builds an index of 48 MiB in its init. A filter reads all of it; a reranker writes to
;; all of it.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_init") (result i32)
    (local $at i32)
    (drop (memory.grow (i32.const 767)))
    (loop $next
      (i32.store (local.get $at) (i32.add (local.get $at) (i32.const 1)))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 50331648))))
    (i32.const 0))
  (func (export "anchor_filter") (result i32)
    (local $at i32)
    (loop $next
      (if (i32.ne (i32.load (local.get $at)) (i32.add (local.get $at) (i32.const 1))) (then unreachable))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 50331648))))
    (i32.const 1))
  (func (export "anchor_rerank") (result i32)
    (local $at i32)
    (loop $next
      (i32.store (local.get $at) (i32.const 0))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 50331648))))
    (i32.const 1))
)
