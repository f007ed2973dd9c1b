;; Fills 16 MiB of memory again and again.
(module
  (memory 256)
  (func (export "run")
    (loop $l
      (memory.fill (i32.const 0) (i32.const 7) (i32.const 16777216))
      (br $l))))
