;; Closes its standard output, where no image holds it.
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32) (i32.const 1))
  (func (export "nothing") (result i32) (i32.const 0))
  (func (export "close") (result i32) (call $fd_close (i32.const 1)))
)
