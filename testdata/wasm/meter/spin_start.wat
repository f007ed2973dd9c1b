;; An endless loop in the start function.
(module
  (func $start (loop $l (br $l)))
  (start $start)
  (func (export "run")))
