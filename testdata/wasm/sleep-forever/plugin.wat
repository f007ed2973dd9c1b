;; A filter that sleeps for an hour.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (i64.store (i32.const 24) (i64.const 3600000000000)) ;; a clock subscription of one hour
    (drop (call $poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))
    (i32.const 1))
)
