;; A filter that ends the program with exit code 3.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (call $proc_exit (i32.const 3))
    (i32.const 0))
)
