;; A foreign module whose get sends the request that is its input.
(module
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "http_request" (func $http_request (param i64 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "get") (result i32) (local $body i64)
    (local.set $body (call $http_request (call $input_offset) (i64.const 0)))
    (call $output_set (local.get $body) (call $length (local.get $body)))
    (i32.const 0))
)
