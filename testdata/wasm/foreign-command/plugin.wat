;; A WASI command: main is _start, which writes to stdout and leaves with exit
;; code 0.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\05\00\00\00") ;; one iovec
  (data (i32.const 16) "hello")
  (func (export "_start")
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $proc_exit (i32.const 0)))
  (func (export "exit_2") (call $proc_exit (i32.const 2)))
)
