;; Fills just under 64 KiB, 2^60 times, in a function of its own.
(module
  (memory 1)
  (func $fill (memory.fill (i32.const 0) (i32.const 7) (i32.const 65535)))
  (func (export "run") (loop $l (call $fill) (br $l))))
