;; A foreign module that computes for a while and ends, and takes without end what
;; the host lends: the log, the key-value store, variables, descriptors, its neighbours.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "log_error" (func $log_error (param i64)))
  (import "extism:host/env" "var_set" (func $var_set (param i64 i64)))
  (import "extism:host/user" "anchor_kv_set" (func $kv_set (param i64 i64) (result i32)))
  (import "extism:host/user" "neighbour" (func $neighbour (param i64) (result i64)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) ".")
  (global $n (mut i64) (i64.const 0))
  (global $key (mut i64) (i64.const 0))
  (global $value (mut i64) (i64.const 0))
  ;; another key of 8 bytes, and a value of 1,000
  (func $pair
    (if (i64.eqz (global.get $key)) (then
      (global.set $key (call $alloc (i64.const 8)))
      (global.set $value (call $alloc (i64.const 1000)))))
    (global.set $n (i64.add (global.get $n) (i64.const 1)))
    (call $store_u64 (global.get $key) (i64.or (i64.const 0x4141414141414141)
      (i64.or (i64.and (global.get $n) (i64.const 0x0f0f0f0f))
        (i64.shl (i64.and (i64.shr_u (global.get $n) (i64.const 4)) (i64.const 0x0f0f0f0f)) (i64.const 32))))))
  ;; the honest one: some milliseconds of work
  (func (export "crunch") (local $i i32) (local $x i32)
    (loop $l
      (local.set $x (i32.xor (i32.mul (local.get $x) (i32.const 1664525)) (local.get $i)))
      (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 10000000))))
    (i32.store (i32.const 64) (local.get $x)))
  (func (export "spin") (loop $l (br $l)))
  (func (export "log") (call $pair) (loop $l (call $log_error (global.get $value)) (br $l)))
  (func (export "kv") (loop $l (call $pair) (drop (call $kv_set (global.get $key) (global.get $value))) (br $l)))
  (func (export "vars") (loop $l (call $pair) (call $var_set (global.get $key) (global.get $value)) (br $l)))
  (func (export "files")
    (loop $l (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 2)
      (i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1024))) (br $l)))
  (func (export "nested") (call $pair) (loop $l (drop (call $neighbour (global.get $key))) (br $l)))
  (func (export "blocks") (loop $l (br_if $l (i64.ne (call $alloc (i64.const 100000)) (i64.const 0)))) (unreachable))
)
