;; An endless loop that does nothing.
(module
  (func (export "run") (loop $l (br $l))))
