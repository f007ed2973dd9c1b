;; A whole guest: a filter in the batch lane that keeps the rows whose score is 0.5 or more.
(module
  (memory (export "memory") 1)
  ;; 16: the mailbox, 24 bytes long, which lends no room until anchor_reserve is called
  (data (i32.const 16) "\18\00\00\00")
  ;; 4096: the output, a change set with one section, keep (512, u32[]); lengths and rows follow below
  (data (i32.const 4096) "ANCC\01\00\00\00\20\00\00\00")
  (data (i32.const 4116) "\01\00\00\00")                         ;; sections
  (data (i32.const 4128) "\00\02\03\00\00\00\00\00\30\00\00\00") ;; keep: id, type, flags, offset 48

  (func (export "anchor_abi_1"))
  (func (export "anchor_mailbox") (result i32) (i32.const 16))

  ;; lends n bytes from 5 MiB on, behind the longest output there can be (2^20 rows of 4 bytes)
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (local $pages i32)
    (if (i32.gt_u (local.get $n) (i32.const 0x10000000)) (then (return (i32.const 0))))
    (local.set $pages (i32.shr_u (i32.add (local.get $n) (i32.const 0x50ffff)) (i32.const 16)))
    (if (i32.gt_u (local.get $pages) (memory.size)) (then
      (if (i32.eq (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const -1))
        (then (return (i32.const 0))))))
    (i32.store (i32.const 20) (i32.const 0x500000)) ;; in_addr
    (i32.store (i32.const 24) (local.get $n))       ;; in_cap
    (i32.const 0x500000))

  ;; the address of the column score, or 0: an entry of the directory has 16 bytes, and begins with id and type
  (func $scores (param $batch i32) (result i32)
    (local $entry i32) (local $end i32)
    (local.set $entry (i32.add (local.get $batch) (i32.load offset=8 (local.get $batch))))
    (local.set $end (i32.add (local.get $entry) (i32.shl (i32.load offset=20 (local.get $batch)) (i32.const 4))))
    (loop $next
      (if (i32.eq (local.get $entry) (local.get $end)) (then (return (i32.const 0))))
      (if (i32.eq (i32.load (local.get $entry)) (i32.const 0x60002)) ;; id 2, type 6
        (then (return (i32.add (local.get $batch) (i32.load offset=8 (local.get $entry))))))
      (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
      (br $next))
    (unreachable))

  (func (export "anchor_batch_filter") (param $batch i32) (param $len i32) (result i32)
    (local $score i32) (local $row i32) (local $rows i32) (local $out i32)
    (local.set $score (call $scores (local.get $batch)))
    (if (i32.eqz (local.get $score)) (then (return (i32.const 1)))) ;; no change
    (local.set $rows (i32.load offset=16 (local.get $batch)))
    (local.set $out (i32.const 4144))
    (block $done
      (loop $next
        (br_if $done (i32.eq (local.get $row) (local.get $rows)))
        (if (f64.ge (f64.load (local.get $score)) (f64.const 0.5)) (then
          (i32.store (local.get $out) (local.get $row))
          (local.set $out (i32.add (local.get $out) (i32.const 4)))))
        (local.set $score (i32.add (local.get $score) (i32.const 8)))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (i32.store (i32.const 4140) (i32.sub (local.get $out) (i32.const 4144))) ;; keep: length
    (i32.store (local.get $out) (i32.const 0))                               ;; padding to a multiple of 8
    (local.set $out (i32.and (i32.add (local.get $out) (i32.const 7)) (i32.const -8)))
    (i32.store (i32.const 4108) (i32.sub (local.get $out) (i32.const 4096))) ;; total
    (i32.store (i32.const 28) (i32.const 4096))                              ;; out_addr
    (i32.store (i32.const 32) (i32.sub (local.get $out) (i32.const 4096)))   ;; out_len
    (i32.const 0)))
