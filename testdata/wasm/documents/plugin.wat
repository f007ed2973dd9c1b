;; Takes the documents of the JSON lane through the mailbox, in the ways that there are.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (memory (export "memory") 2)
  (data (i32.const 16) "\1c") ;; the mailbox: size 28, nothing lent

  (func (export "anchor_abi_1"))
  (func (export "anchor_mailbox") (result i32) (i32.const 16))

  ;; lends up to 4096 bytes at 65536; for 5000 it has none, for 6000 it lends some beyond
  ;; the memory, and for 7000 it makes the mailbox smaller
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (if (i32.eq (local.get $n) (i32.const 5000)) (then (return (i32.const 0))))
    (i32.store (i32.const 20) (i32.const 65536))
    (i32.store (i32.const 24) (i32.const 4096))
    (if (i32.eq (local.get $n) (i32.const 6000)) (then (i32.store (i32.const 24) (i32.const 65537))))
    (if (i32.eq (local.get $n) (i32.const 7000)) (then
      (i32.store (i32.const 24) (i32.const 8192))
      (i32.store (i32.const 16) (i32.const 24))))
    (i32.const 65536))

  ;; takes the document and returns its length
  (func $take (result i32)
    (local $n i32)
    (local.set $n (i32.load (i32.const 40)))
    (i32.store (i32.const 40) (i32.const 0))
    (local.get $n))

  (func $answer (param $at i32) (param $n i32)
    (i32.store (i32.const 28) (local.get $at))
    (i32.store (i32.const 32) (local.get $n)))

  ;; sets the Extism output to 16 bytes: two numbers
  (func $extism (param $a i64) (param $b i64)
    (local $block i64)
    (local.set $block (call $alloc (i64.const 16)))
    (call $store_u64 (local.get $block) (local.get $a))
    (call $store_u64 (i64.add (local.get $block) (i64.const 8)) (local.get $b))
    (call $output_set (local.get $block) (i64.const 16)))

  ;; answers with the request, where it lies
  (func (export "anchor_provide") (result i32)
    (call $answer (i32.load (i32.const 20)) (call $take))
    (i32.const 0))

  ;; takes the request, and has no answer
  (func (export "anchor_process") (result i32)
    (drop (call $take))
    (call $answer (i32.const 0) (i32.const 0))
    (i32.const 0))

  ;; takes the request, and answers with what lies beyond the memory
  (func (export "anchor_classify") (result i32)
    (drop (call $take))
    (call $answer (i32.const 131064) (i32.const 64))
    (i32.const 0))

  ;; says through Extism how long the document and the input are, and takes neither
  (func (export "anchor_format") (result i32)
    (call $answer (i32.const 131064) (i32.const 64))
    (call $extism (i64.extend_i32_u (i32.load (i32.const 40))) (call $input_length))
    (i32.const 0))

  ;; fails before it takes the request
  (func (export "anchor_compact") (result i32)
    (local $block i64)
    (local.set $block (call $alloc (i64.const 8)))
    (call $store_u64 (local.get $block) (i64.const 0x656c616d726f6e61)) ;; anormale
    (call $error_set (local.get $block))
    (i32.const -1))

  ;; takes the request, makes the mailbox smaller, and answers through Extism
  (func (export "anchor_transform_query") (result i32)
    (drop (call $take))
    (i32.store (i32.const 16) (i32.const 24))
    (call $extism (i64.const 1) (i64.const 2))
    (i32.const 0))

  ;; is none of the contract: it says what anchor_format does
  (func (export "other") (result i32)
    (call $extism (i64.extend_i32_u (i32.load (i32.const 40))) (call $input_length))
    (i32.const 0))
)
