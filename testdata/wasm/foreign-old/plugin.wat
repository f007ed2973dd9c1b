;; A module from before Extism 1.0: the same functions under their old names.
(module
  (import "env" "extism_input_length" (func $input_length (result i64)))
  (import "env" "extism_input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "env" "extism_input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "env" "extism_alloc" (func $alloc (param i64) (result i64)))
  (import "env" "extism_store_u8" (func $store_u8 (param i64 i32)))
  (import "env" "extism_output_set" (func $output_set (param i64 i64)))
  (import "env" "extism_error_set" (func $error_set (param i64)))
  (import "env" "extism_var_get" (func $var_get (param i64) (result i64)))
  (import "env" "extism_var_set" (func $var_set (param i64 i64)))
  (import "env" "extism_length" (func $length (param i64) (result i64)))
  (import "env" "extism_config_get" (func $config_get (param i64) (result i64)))
  (memory (export "memory") 1)
  ;; output = input
  (func (export "echo") (result i32)
    (local $h i64) (local $i i64)
    (local.set $h (call $alloc (call $input_length)))
    (loop $next
      (if (i64.lt_u (local.get $i) (call $input_length)) (then
        (call $store_u8 (i64.add (local.get $h) (local.get $i)) (call $input_load_u8 (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next))))
    (call $output_set (local.get $h) (call $input_length))
    (i32.const 0))
  ;; counts its calls in an Extism variable and returns the count as output
  (func (export "count")
    (local $key i64) (local $old i64) (local $new i64)
    (local.set $key (call $alloc (i64.const 1)))
    (call $store_u8 (local.get $key) (i32.const 0x6e))
    (local.set $old (call $var_get (local.get $key)))
    (local.set $new (call $alloc (i64.add (call $length (local.get $old)) (i64.const 1))))
    (call $var_set (local.get $key) (local.get $new))
    (call $output_set (local.get $new) (call $length (local.get $new))))
  ;; returns a configuration value
  (func (export "config") (result i32)
    (local $v i64)
    (local.set $v (call $config_get (call $alloc (i64.const 1)))) ;; the key is one zero byte
    (call $output_set (local.get $v) (call $length (local.get $v)))
    (i32.const 0))
  (func (export "fail") (result i32) (i32.const 5))
  (func (export "with_parameter") (param i32) (result i32) (local.get 0))
)
