;; Keeps the items that contain any, or all, of the keywords: the batch lane of the
;; contract, whole and by hand. The numbers are those of abi/ABI.md.
;;
;; Memory: 16 the mailbox, 64 constants, 1024 what the host writes a batch into, and
;; after the batch the answer.
(module
  (memory (export "memory") 1)

  ;; The mailbox. Its length is all that is known before the first call; the rest is
  ;; the room lent to the host (address, length) and the answer (address, length).
  (data (i32.const 16) "\18\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00" "\00\00\00\00")
  (data (i32.const 64) "keywords") ;; names of settings, and a value
  (data (i32.const 72) "match")
  (data (i32.const 80) "all")

  ;; What has been found last: an address and a length.
  (global $found (mut i32) (i32.const 0))
  (global $found_size (mut i32) (i32.const 0))

  ;; The marker: this module speaks version 1 of the contract. It is never called.
  (func (export "anchor_abi_1"))

  (func (export "anchor_mailbox") (result i32) (i32.const 16))

  ;; Lends room for a batch of $n bytes. The answer follows the batch: its header and
  ;; one section, and 4 bytes per row, for each of which the batch has 4 as well.
  (func (export "anchor_reserve") (param $n i32) (result i32)
    (local $pages i32)
    (if (i32.gt_u (local.get $n) (i32.const 0x10000000)) (then (return (i32.const 0)))) ;; more than a batch may have
    (local.set $pages (i32.shr_u (i32.add (i32.shl (local.get $n) (i32.const 1)) (i32.const 0x10fff)) (i32.const 16)))
    (if (i32.gt_u (local.get $pages) (memory.size)) (then
      (if (i32.lt_s (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const 0))
        (then (return (i32.const 0))))))
    (i32.store (i32.const 20) (i32.const 1024))
    (i32.store (i32.const 24) (local.get $n))
    (i32.const 1024))

  ;; The operation, on a batch of $n bytes at $batch: returns the status, 0 for done,
  ;; 1 for no change, -1 for an error.
  (func (export "anchor_batch_filter") (param $batch i32) (param $n i32) (result i32)
    (local $texts i32) (local $settings i32) (local $settings_size i32)
    (local $words i32) (local $words_size i32) (local $all i32)
    (local $rows i32) (local $row i32) (local $entry i32) (local $end i32) (local $id i32)
    (local $bytes i32) (local $from i32) (local $answer i32) (local $keep i32)

    ;; It must begin with ANCB and major version 1.
    (if (i32.ne (i32.load (local.get $batch)) (i32.const 0x42434e41)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load16_u offset=4 (local.get $batch)) (i32.const 1)) (then (return (i32.const -1))))
    (local.set $rows (i32.load offset=16 (local.get $batch)))

    ;; The directory: 16 bytes per section, id, type, flags, offset, length.
    (local.set $entry (i32.add (local.get $batch) (i32.load offset=8 (local.get $batch))))
    (local.set $end (i32.add (local.get $entry) (i32.shl (i32.load offset=20 (local.get $batch)) (i32.const 4))))
    (block $read
      (loop $next
        (br_if $read (i32.ge_u (local.get $entry) (local.get $end)))
        (local.set $id (i32.load16_u (local.get $entry)))
        (local.set $from (i32.add (local.get $batch) (i32.load offset=8 (local.get $entry))))
        (if (i32.eq (local.get $id) (i32.const 3)) (then (local.set $texts (local.get $from))))
        (if (i32.eq (local.get $id) (i32.const 260)) (then
          (local.set $settings (local.get $from))
          (local.set $settings_size (i32.load offset=12 (local.get $entry)))))
        ;; A section of a later version that must not be skipped ends the call.
        (if (i32.and (i32.load offset=4 (local.get $entry)) (i32.const 1)) (then
          (if (i32.eqz (call $known (local.get $id))) (then (return (i32.const -1))))))
        (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
        (br $next)))

    ;; The settings.
    (call $setting (local.get $settings) (local.get $settings_size) (i32.const 64) (i32.const 8))
    (local.set $words (global.get $found))
    (local.set $words_size (global.get $found_size))
    (call $setting (local.get $settings) (local.get $settings_size) (i32.const 72) (i32.const 5))
    (local.set $all (i32.and (i32.eq (global.get $found_size) (i32.const 3))
      (call $same (global.get $found) (i32.const 80) (global.get $found_size))))
    (call $word (local.get $words) (i32.add (local.get $words) (local.get $words_size)))
    (if (i32.eqz (global.get $found_size)) (then (return (i32.const 1)))) ;; no words: no change

    ;; The answer, at the next multiple of 8 after the batch; its rows from 48 on.
    (local.set $answer (i32.and (i32.add (i32.add (local.get $batch) (local.get $n)) (i32.const 7)) (i32.const -8)))
    (local.set $keep (i32.add (local.get $answer) (i32.const 48)))

    ;; The texts: rows + 1 offsets, then the bytes.
    (local.set $bytes (i32.add (local.get $texts) (i32.shl (i32.add (local.get $rows) (i32.const 1)) (i32.const 2))))
    (if (local.get $texts) (then
      (block $done
        (loop $next
          (br_if $done (i32.ge_u (local.get $row) (local.get $rows)))
          (local.set $from (i32.load (local.get $texts)))
          (if (call $matches
                (i32.add (local.get $bytes) (local.get $from))
                (i32.add (local.get $bytes) (i32.load offset=4 (local.get $texts)))
                (local.get $words) (i32.add (local.get $words) (local.get $words_size)) (local.get $all))
            (then
              (i32.store (local.get $keep) (local.get $row))
              (local.set $keep (i32.add (local.get $keep) (i32.const 4)))))
          (local.set $texts (i32.add (local.get $texts) (i32.const 4)))
          (local.set $row (i32.add (local.get $row) (i32.const 1)))
          (br $next)))))
    (call $publish (local.get $answer) (local.get $keep))
    (i32.const 0))

  ;; Makes the rows from $answer + 48 to $end a change set, and puts it in the mailbox.
  (func $publish (param $answer i32) (param $end i32)
    (local $size i32)
    (local.set $size (i32.sub (local.get $end) (i32.add (local.get $answer) (i32.const 48))))
    (if (i32.and (local.get $size) (i32.const 4)) (then (i32.store (local.get $end) (i32.const 0)))) ;; padding
    (i32.store (local.get $answer) (i32.const 0x43434e41))                           ;; ANCC
    (i32.store offset=4 (local.get $answer) (i32.const 1))                           ;; version 1.0
    (i32.store offset=8 (local.get $answer) (i32.const 32))                          ;; header
    (i32.store offset=12 (local.get $answer)
      (i32.add (i32.const 48) (i32.and (i32.add (local.get $size) (i32.const 7)) (i32.const -8)))) ;; total
    (i32.store offset=16 (local.get $answer) (i32.const 0))                          ;; new items
    (i32.store offset=20 (local.get $answer) (i32.const 1))                          ;; sections
    (i64.store offset=24 (local.get $answer) (i64.const 0))
    (i32.store offset=32 (local.get $answer) (i32.const 0x00030200))                 ;; section 512, keep; type 3, u32[]
    (i32.store offset=36 (local.get $answer) (i32.const 0))                          ;; flags
    (i32.store offset=40 (local.get $answer) (i32.const 48))                         ;; offset
    (i32.store offset=44 (local.get $answer) (local.get $size))                      ;; length
    (i32.store (i32.const 28) (local.get $answer))
    (i32.store (i32.const 32) (i32.load offset=12 (local.get $answer))))

  ;; Whether a section of a batch is one of version 1: 1 to 8, 256 to 262.
  (func $known (param $id i32) (result i32)
    (i32.or (i32.lt_u (i32.sub (local.get $id) (i32.const 1)) (i32.const 8))
      (i32.lt_u (i32.sub (local.get $id) (i32.const 256)) (i32.const 7))))

  ;; Finds the setting of a name in a JSON object whose values are strings without
  ;; escapes, which the schema in plugin.yaml sees to.
  (func $setting (param $p i32) (param $size i32) (param $name i32) (param $length i32)
    (local $end i32) (local $named i32)
    (local.set $end (i32.add (local.get $p) (local.get $size)))
    (loop $next
      (call $quoted (local.get $p) (local.get $end))
      (if (i32.eqz (global.get $found)) (then (return))) ;; no further string
      (local.set $p (i32.add (i32.add (global.get $found) (global.get $found_size)) (i32.const 1)))
      (if (local.get $named) (then (return)))
      ;; The string is the name when a colon follows: then the next one is the value.
      (block $no
        (br_if $no (i32.ne (global.get $found_size) (local.get $length)))
        (br_if $no (i32.eqz (call $same (global.get $found) (local.get $name) (local.get $length))))
        (local.set $p (call $blank (local.get $p) (local.get $end)))
        (local.set $named (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x3a))))
      (br $next)))

  ;; Finds the next string in quotes; an address of 0 says that there is none.
  (func $quoted (param $p i32) (param $end i32)
    (global.set $found (i32.const 0))
    (global.set $found_size (i32.const 0))
    (local.set $p (i32.add (call $until (local.get $p) (local.get $end) (i32.const 0x22)) (i32.const 1)))
    (if (i32.ge_u (local.get $p) (local.get $end)) (then (return)))
    (global.set $found (local.get $p))
    (global.set $found_size (i32.sub (call $until (local.get $p) (local.get $end) (i32.const 0x22)) (local.get $p))))

  ;; The address of the first byte $c, or the end.
  (func $until (param $p i32) (param $end i32) (param $c i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
        (br_if $done (i32.eq (i32.load8_u (local.get $p)) (local.get $c)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br $next)))
    (local.get $p))

  ;; The address of the first byte beyond spaces and control characters.
  (func $blank (param $p i32) (param $end i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
        (br_if $done (i32.gt_u (i32.load8_u (local.get $p)) (i32.const 0x20)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br $next)))
    (local.get $p))

  ;; Whether $n bytes at $a and $b are the same.
  (func $same (param $a i32) (param $b i32) (param $n i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (i32.eq
        (i32.load8_u (i32.add (local.get $a) (local.get $n)))
        (i32.load8_u (i32.add (local.get $b) (local.get $n))))))
    (i32.const 0))

  ;; Finds the first word from $p on; a length of 0 says that there is none.
  (func $word (param $p i32) (param $end i32)
    (local.set $p (call $blank (local.get $p) (local.get $end)))
    (global.set $found (local.get $p))
    (global.set $found_size (i32.sub (call $until (local.get $p) (local.get $end) (i32.const 0x20)) (local.get $p))))

  ;; Whether a text holds any, or all, of the words.
  (func $matches (param $p i32) (param $end i32) (param $words i32) (param $words_end i32) (param $all i32) (result i32)
    (loop $next
      (call $word (local.get $words) (local.get $words_end))
      (if (global.get $found_size) (then
        (if (i32.ne (call $holds (local.get $p) (local.get $end) (global.get $found) (global.get $found_size)) (local.get $all))
          (then (return (i32.eqz (local.get $all)))))
        (local.set $words (i32.add (global.get $found) (global.get $found_size)))
        (br $next))))
    (local.get $all))

  ;; Whether a text holds the word of $n bytes at $word.
  (func $holds (param $p i32) (param $end i32) (param $word i32) (param $n i32) (result i32)
    (local $first i32) (local $i i32)
    (local.set $first (call $lower (local.get $word)))
    (local.set $end (i32.sub (local.get $end) (local.get $n)))
    (loop $next
      (if (i32.gt_s (local.get $p) (local.get $end)) (then (return (i32.const 0))))
      (if (i32.eq (call $lower (local.get $p)) (local.get $first)) (then
        (local.set $i (i32.const 1))
        (loop $compare
          (if (i32.ge_u (local.get $i) (local.get $n)) (then (return (i32.const 1))))
          (if (i32.eq (call $lower (i32.add (local.get $p) (local.get $i))) (call $lower (i32.add (local.get $word) (local.get $i))))
            (then
              (local.set $i (i32.add (local.get $i) (i32.const 1)))
              (br $compare))))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; The byte at $p, in lower case if it is a letter of ASCII.
  (func $lower (param $p i32) (result i32)
    (local $c i32)
    (local.set $c (i32.load8_u (local.get $p)))
    (select (i32.or (local.get $c) (i32.const 0x20)) (local.get $c)
      (i32.lt_u (i32.sub (local.get $c) (i32.const 0x41)) (i32.const 26))))
)
