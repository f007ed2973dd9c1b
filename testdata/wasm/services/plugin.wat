;; A filter that changes nothing, and a retriever that shows what the services leave with it. The other exports pass their input to a service of the host, and answer with what
;; the service answers. vectors answers with the block of vectors instead, and vector searches with a vector of its own.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "anchor_embed" (func $embed (param i64) (result i64)))
  (import "extism:host/user" "anchor_search" (func $search (param i64) (result i64)))
  (import "extism:host/user" "anchor_llm" (func $llm (param i64) (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"by\":\"vectors\",\"dimension\":2,\"vector\":                    }") ;; 60 bytes
  (data (i32.const 256) "{\"requests\":[{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]},{\"messages\":[{\"role\":\"user\",\"content\":\"fail\"}]}]}") ;; 111 bytes
  (data (i32.const 512) "{\"texts\":[\"hello\"]}") ;; 19 bytes
  (data (i32.const 768) "{\"text\":\"hello\"}") ;; 16 bytes
  (data (i32.const 1024) "{\"items\":[{\"score\":1,\"content\":\"\"}]}") ;; 32 and 4 bytes
  (data (i32.const 1100) "0123456789abcdef")
  (func (export "anchor_abi_1"))
  (func (export "anchor_filter") (result i32) (i32.const 1))

  (func $answer (param $block i64) (result i32)
    (call $output_set (local.get $block) (call $length (local.get $block)))
    (i32.const 0))
  (func (export "embed") (result i32) (call $answer (call $embed (call $input_offset))))
  (func (export "search") (result i32) (call $answer (call $search (call $input_offset))))
  (func (export "llm") (result i32) (call $answer (call $llm (call $input_offset))))

  ;; asks again and again
  (func (export "llm_forever") (result i32)
    (loop $l (drop (call $llm (call $input_offset))) (br $l)) (i32.const 1))
  (func (export "embed_forever") (result i32)
    (loop $l (drop (call $embed (call $input_offset))) (br $l)) (i32.const 1))
  (func (export "search_forever") (result i32)
    (loop $l (drop (call $search (call $input_offset))) (br $l)) (i32.const 1))

  ;; 30 MB of zeros
  (func (export "llm_large") (result i32) (call $answer (call $llm (call $alloc (i64.const 30000000)))))
  (func (export "embed_wild") (result i32) (call $answer (call $embed (i64.const 0x7fffffffffff))))

  ;; the answer ends with "vectors":N}
  (func (export "vectors") (result i32) (local $at i64) (local $c i32) (local $n i64) (local $place i64)
    (local.set $at (call $embed (call $input_offset)))
    (local.set $at (i64.add (local.get $at) (i64.sub (call $length (local.get $at)) (i64.const 2))))
    (local.set $place (i64.const 1))
    (block $done
      (loop $l
        (local.set $c (call $load_u8 (local.get $at)))
        (br_if $done (i32.gt_u (i32.sub (local.get $c) (i32.const 48)) (i32.const 9)))
        (local.set $n (i64.add (local.get $n) (i64.mul (local.get $place)
          (i64.extend_i32_u (i32.sub (local.get $c) (i32.const 48))))))
        (local.set $place (i64.mul (local.get $place) (i64.const 10)))
        (local.set $at (i64.sub (local.get $at) (i64.const 1)))
        (br $l)))
    (call $answer (local.get $n)))

  ;; searches with the vector 1, 0.5
  (func (export "vector") (result i32) (local $n i64) (local $at i32) (local $doc i64)
    (local.set $n (call $alloc (i64.const 8)))
    (call $store_u64 (local.get $n) (i64.const 0x3f0000003f800000))
    (local.set $at (i32.const 58))
    (loop $digits
      (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 10)))))
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (br_if $digits (i64.ne (local.tee $n (i64.div_u (local.get $n) (i64.const 10))) (i64.const 0))))
    (local.set $doc (call $alloc (i64.const 60)))
    (local.set $at (i32.const 0))
    (loop $copy
      (call $store_u8 (i64.add (local.get $doc) (i64.extend_i32_u (local.get $at))) (i32.load8_u (local.get $at)))
      (br_if $copy (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (i32.const 60))))
    (call $answer (call $search (local.get $doc))))

  ;; a block with n bytes of the memory
  (func $block (param $from i32) (param $n i32) (result i64) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.extend_i32_u (local.get $n))))
    (call $copy (local.get $b) (local.get $from) (local.get $n))
    (local.get $b))
  (func $copy (param $to i64) (param $from i32) (param $n i32) (local $i i32)
    (loop $l
      (call $store_u8 (i64.add (local.get $to) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $from) (local.get $i))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))

  ;; asks all services, and answers with an item that has, in hex, all of the host's memory for this guest that it can
  ;; read: from its input to the end of the last answer
  (func (export "anchor_retrieve") (result i32) (local $from i64) (local $n i64) (local $out i64) (local $i i64) (local $c i32)
    (drop (call $embed (call $block (i32.const 512) (i32.const 19))))
    (drop (call $search (call $block (i32.const 768) (i32.const 16))))
    (local.set $out (call $llm (call $block (i32.const 256) (i32.const 111))))
    (local.set $from (call $input_offset))
    (local.set $n (i64.sub (i64.add (local.get $out) (call $length (local.get $out))) (local.get $from)))
    (local.set $out (call $alloc (i64.add (i64.const 36) (i64.shl (local.get $n) (i64.const 1)))))
    (call $copy (local.get $out) (i32.const 1024) (i32.const 32))
    (loop $l
      (local.set $c (call $load_u8 (i64.add (local.get $from) (local.get $i))))
      (call $store_u8 (i64.add (i64.add (local.get $out) (i64.const 32)) (i64.shl (local.get $i) (i64.const 1)))
        (i32.load8_u offset=1100 (i32.shr_u (local.get $c) (i32.const 4))))
      (call $store_u8 (i64.add (i64.add (local.get $out) (i64.const 33)) (i64.shl (local.get $i) (i64.const 1)))
        (i32.load8_u offset=1100 (i32.and (local.get $c) (i32.const 15))))
      (br_if $l (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (local.get $n))))
    (call $copy (i64.add (i64.add (local.get $out) (i64.const 32)) (i64.shl (local.get $n) (i64.const 1))) (i32.const 1056) (i32.const 4))
    (call $answer (local.get $out))))
