;; A foreign program that calls a function of its embedder when it starts, and
;; then writes to its memory for a while.
(module
  (import "extism:host/user" "greet" (func $greet (param i64) (result i64)))
  (memory (export "memory") 2)
  (func (export "_start")
    (local $i i32)
    (drop (call $greet (i64.const 0)))
    (loop $again
      (i32.store (i32.const 70000) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 1000000)))))
  ;; calls the embedder, and returns what it made of an empty input
  (func (export "again") (result i32) (i32.wrap_i64 (call $greet (i64.const 0))))
)
