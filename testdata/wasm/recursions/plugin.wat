;; A foreign module that calls itself in many ways until the stack is full, and in two
;; ways that end.
(module
  (type $step (func (param i64) (result i64)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $by_table)

  (func $self (type $step)
    (i64.add (call $self (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
  (func (export "self") (result i32) (i32.wrap_i64 (call $self (i64.const 0))))

  (func $even (type $step)
    (i64.add (call $odd (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
  (func $odd (type $step)
    (i64.sub (call $even (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
  (func (export "mutual") (result i32) (i32.wrap_i64 (call $even (i64.const 0))))

  (func $by_table (type $step)
    (i64.add (call_indirect (type $step) (local.get 0) (i32.const 0)) (i64.const 1)))
  (func (export "by_table") (result i32)
    (i32.wrap_i64 (call_indirect (type $step) (i64.const 0) (i32.const 0))))

  ;; frames of many values, all of them used
  (func $many (result
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) 
    (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) (v128.load (i32.const 0)) )
  (func $take (param
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128))
  (func $values (call $many) (call $values) (call $take))
  (func (export "values") (result i32) (call $values) (i32.const 0))

  ;; the same as parameters
  (func $params (param
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (call $params (call $many)))
  (func (export "params") (result i32) (call $params (call $many)) (i32.const 0))

  ;; frames of more than a page, for what is never done
  (func $skipping (param $never i32)
    (if (local.get $never) (then
      (call $many) (call $many) (call $many) (call $many) (call $many)
      (call $take) (call $take) (call $take) (call $take) (call $take)))
    (call $skipping (local.get $never)))
  (func (export "skipping") (result i32) (call $skipping (i32.const 0)) (i32.const 0))

  ;; the same, 1,500 calls deep, and back
  (func $filling (param $left i32)
    (if (i32.lt_s (local.get $left) (i32.const 0)) (then
      (call $many) (call $many) (call $many) (call $many) (call $many)
      (call $take) (call $take) (call $take) (call $take) (call $take)))
    (if (local.get $left) (then (call $filling (i32.sub (local.get $left) (i32.const 1))))))
  (func (export "fills") (result i32) (call $filling (i32.const 1500)) (i32.const 0))

  ;; 100,000 calls deep, and back
  (func $down (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
      (else (i32.const 0))))
  (func (export "ends") (result i32) (i32.ne (call $down (i32.const 100000)) (i32.const 100000)))
)
