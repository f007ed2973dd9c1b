;; A filter that divides by zero in a function with a name.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func $divide (param $n i32) (result i32) (i32.div_u (i32.const 1) (local.get $n)))
  (func $filter (export "anchor_filter") (result i32) (call $divide (i32.const 0)))
)
