;; Asks for more memory than there can be, again and again.
(module
  (memory 1 2)
  (func (export "run") (loop $l (drop (memory.grow (i32.const 70000))) (br $l))))
