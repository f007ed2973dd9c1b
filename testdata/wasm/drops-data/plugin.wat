;; A foreign module that drops a passive segment, which no image holds.
(module
  (memory (export "memory") 1)
  (data $once "once")
  ;; traps when the segment was dropped before
  (func (export "copy") (result i32)
    (memory.init $once (i32.const 0) (i32.const 0) (i32.const 4))
    (data.drop $once)
    (i32.const 0))
)
