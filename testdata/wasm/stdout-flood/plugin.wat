;; A filter that writes 4 MB to stdout and traps.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (local $i i32)
    (i32.store (i32.const 0) (i32.const 16))   ;; one iovec: address
    (i32.store (i32.const 4) (i32.const 4096)) ;; and length
    (memory.fill (i32.const 16) (i32.const 0x41) (i32.const 4096))
    (loop $more
      (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 1000))))
    unreachable)
)
