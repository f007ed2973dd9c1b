;; Two functions that tail-call each other for ever.
(module
  (func $ping (return_call $pong))
  (func $pong (return_call $ping))
  (func (export "run") (call $ping)))
