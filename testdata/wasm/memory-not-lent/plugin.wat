;; A foreign module whose memory is its own, and a function that is called "memory".
(module
  (memory 1)
  (data (i32.const 16) "hidden")
  (func (export "memory") (result i32) (i32.ne (i32.load8_u (i32.const 16)) (i32.const 0x68)))
  (func (export "calls") (result i32) (i32.const 1))
)
