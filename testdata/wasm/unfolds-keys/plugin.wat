;; Answers, in the batch lane, with 1,024 new items, each with metadata under the one key of 512 KiB that the dictionary has.
(module
  (memory (export "memory") 16)
  (data (i32.const 16) "\18\00\00\00\00\00\00\00\00\00\00\00\00\10\00\00\68\58\08\00") ;; the mailbox: 546,920 bytes at 4096
  (data (i32.const 4096) "ANCC\01\00\00\00\20\00\00\00\68\58\08\00\00\04\00\00\02\00\00\00")
  (data (i32.const 4128) "\03\00\07\00\00\00\00\00\40\00\00\00\04\14\00\00") ;; text: 5,124 bytes at 64
  (data (i32.const 4144) "\04\00\08\00\00\00\00\00\48\14\00\00\1c\44\08\00") ;; metadata: 541,724 bytes at 5192
  (data (i32.const 9288) "\01\00\00\00\00\04\00\00\00\00\08\00\00\00\00\00") ;; 1 key, 1,024 entries, 524,288 bytes of keys
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_mailbox") (result i32) (i32.const 16))
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (i32.store (i32.const 20) (i32.const 0xa0000)) ;; in_addr, behind the output
    (i32.store (i32.const 24) (i32.const 0x40000)) ;; in_cap
    (i32.const 0xa0000))
  (func $answer (export "anchor_batch_retrieve") (param i32 i32) (result i32)
    (local $i i32)
    (loop $rows
      (i32.store (i32.add (i32.const 4160) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))     ;; where each text begins
      (i32.store (i32.add (i32.const 17496) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))    ;; where its metadata does
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $rows (i32.le_u (local.get $i) (i32.const 1024))))
    (memory.fill (i32.const 8260) (i32.const 0x78) (i32.const 1024))       ;; texts
    (i32.store (i32.const 21600) (i32.const 524288))                       ;; the end of the key
    (memory.fill (i32.const 26724) (i32.const 0x6b) (i32.const 524288))    ;; the key
    (i32.const 0))
  (func (export "anchor_batch_filter") (param i32 i32) (result i32) (call $answer (i32.const 0) (i32.const 0)))
)
