;; The plugin's shell around QuickJS: it boots the engine, evaluates the scripts,
;; and carries requests and answers between the host's memory and the engine's.
;; Package jsbuild fills in what stands in @…@.
(module
  (import "qjs" "memory" (memory 18))
  (import "qjs" "_initialize" (func $qjs_initialize))
  (import "qjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "qjs" "wasm_free" (func $free (param i32)))
  (import "qjs" "qjs_init" (func $qjs_init (result i32)))
  (import "qjs" "qjs_eval" (func $eval (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_get_global" (func $get_global (result i32)))
  (import "qjs" "qjs_get_null" (func $get_null (result i32)))
  (import "qjs" "qjs_get_undefined" (func $get_undefined (result i32)))
  (import "qjs" "qjs_get_float64" (func $get_float64 (param i32) (result f64)))
  (import "qjs" "qjs_new_number" (func $new_number (param f64) (result i32)))
  (import "qjs" "qjs_is_array_buffer" (func $is_array_buffer (param i32) (result i32)))
  (import "qjs" "qjs_get_array_buffer" (func $get_array_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_array_buffer" (func $new_array_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_string" (func $new_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_host_function" (func $new_host_function (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_set_prop_string" (func $set_prop (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_get_string_len" (func $get_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_free_cstring" (func $free_cstring (param i32)))
  (import "qjs" "qjs_free_value" (func $free_value (param i32)))
  (import "qjs" "qjs_is_exception" (func $is_exception (param i32) (result i32)))
  (import "qjs" "qjs_get_exception" (func $get_exception (result i32)))
  (import "qjs" "qjs_dup_value" (func $dup_value (param i32) (result i32)))
  (import "qjs" "qjs_is_job_pending" (func $is_job_pending (result i32)))
  (import "qjs" "qjs_execute_pending_job" (func $execute_job (result i32)))
  (import "qjs" "qjs_set_promise_rejection_handler" (func $tell_rejections (param i32)))

  (import "extism:host/env" "alloc" (func $block (param i64) (result i64)))
  (import "extism:host/env" "length" (func $block_length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_u64 (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "config_get" (func $config_get (param i64) (result i64)))
  (import "extism:host/env" "log_debug" (func $log_debug (param i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (import "extism:host/env" "log_warn" (func $log_warn (param i64)))
  (import "extism:host/env" "log_error" (func $log_error (param i64)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
@IMPORTS@

  (global $dispatch (mut i32) (i32.const 0)) ;; the function that runtime.js returned
  (global $scratch (mut i32) (i32.const 0))  ;; 16 bytes: two arguments, a length
  (global $rejected (mut i32) (i32.const 0)) ;; the function of runtime.js that hears of rejections
  (data $runtime "@RUNTIME@\00")
  (data $plugin "@PLUGIN@")      ;; the script comes here when the module is done,
  (data $plugin_size "@SIZE@")   ;; and its size here, in four bytes
  (data $names "runtime.js\00plugin.js\00@FUNCTIONS@")
  (data $operations "@OPERATIONS@")

  (func (export "anchor_abi_1")) ;; speaks version 1 of the contract
@EXPORTS@

  ;; boots the engine; the host calls it once, and may keep an image of the result.
  ;; It is renamed to _initialize, a name that the engine has taken.
  (func (export "anchor_boot")
    (local $names i32) (local $at i32)
    (call $qjs_initialize)
    (if (call $qjs_init) (then (unreachable)))
    (global.set $scratch (call $malloc (i32.const 16)))
    (local.set $names (call $malloc (i32.const @NAMES_SIZE@)))
    (memory.init $names (local.get $names) (i32.const 0) (i32.const @NAMES_SIZE@))
    (local.set $at (i32.const 21))
    (loop $next ;; anchor and a letter, and 0
      (call $define (i32.add (local.get $names) (local.get $at)) (i32.const 7))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const @NAMES_SIZE@))))
    (global.set $dispatch (call $run_runtime (local.get $names)))
    (call $free_value (call $run_plugin (i32.add (local.get $names) (i32.const 11))))
    (call $free (local.get $names)))

  ;; makes a function of the host a global; host_call below tells them apart
  (func $define (param $name i32) (param $length i32)
    (drop (call $set_prop (call $get_global) (local.get $name)
      (call $new_host_function (local.get $name) (local.get $length) (i32.const 0)))))

  (func $run_runtime (param $name i32) (result i32)
    (local $p i32)
    (local.set $p (call $malloc (i32.const @RUNTIME_SIZE@)))
    (memory.init $runtime (local.get $p) (i32.const 0) (i32.const @RUNTIME_SIZE@))
    (call $evaluate (local.get $p) (i32.const @RUNTIME_SIZE@) (local.get $name)))

  (func $run_plugin (param $name i32) (result i32)
    (local $p i32) (local $size i32)
    (memory.init $plugin_size (global.get $scratch) (i32.const 0) (i32.const 4))
    (local.set $size (i32.load (global.get $scratch)))
    (local.set $p (call $malloc (local.get $size)))
    (memory.init $plugin (local.get $p) (i32.const 0) (local.get $size))
    (call $evaluate (local.get $p) (local.get $size) (local.get $name)))

  ;; evaluates a script of $size bytes, the last of them 0; an error ends the start
  (func $evaluate (param $p i32) (param $size i32) (param $name i32) (result i32)
    (local $value i32) (local $text i32)
    (local.set $value
      (call $eval (local.get $p) (i32.sub (local.get $size) (i32.const 1)) (local.get $name) (i32.const 0)))
    (if (call $is_exception (local.get $value)) (then
      (local.set $text (call $get_string (call $get_exception) (global.get $scratch)))
      (call $log_error (call $to_block (local.get $text) (i32.load (global.get $scratch))))
      (unreachable)))
    (call $free (local.get $p))
    (local.get $value))

  ;; serves a call of the operation whose name is $length bytes at $at of $operations
  (func $serve (param $at i32) (param $length i32) (result i32)
    (local $name i32) (local $input i32) (local $answer i32) (local $text i32) (local $size i32) (local $status i32)
    (local.set $name (call $malloc (local.get $length)))
    (memory.init $operations (local.get $name) (local.get $at) (local.get $length))
    (i32.store (global.get $scratch) (call $new_string (local.get $name) (local.get $length)))
    (call $free (local.get $name))
    (local.set $size (i32.wrap_i64 (call $input_length)))
    (local.set $input (call $from_input (local.get $size)))
    (i32.store offset=4 (global.get $scratch) (call $new_string (local.get $input) (local.get $size)))
    (call $free (local.get $input))
    (local.set $answer (call $qjs_call (global.get $dispatch) (call $get_undefined) (i32.const 2) (global.get $scratch)))
    (call $free_value (i32.load (global.get $scratch)))
    (call $free_value (i32.load offset=4 (global.get $scratch)))
    (if (call $is_exception (local.get $answer)) (then (local.set $answer (call $get_exception))))
    (local.set $text (call $get_string (local.get $answer) (i32.add (global.get $scratch) (i32.const 8))))
    (call $free_value (local.get $answer))
    (local.set $status (call $reply (local.get $text) (i32.load offset=8 (global.get $scratch))))
    (call $free_cstring (local.get $text))
    (local.get $status))

  ;; hands over what runtime.js returned; anything it would not return is an error
  (func $reply (param $p i32) (param $size i32) (result i32)
    (local $kind i32)
    (if (i32.eqz (local.get $size)) (then (return (i32.const 1))))
    (local.set $kind (i32.load8_u (local.get $p)))
    (if (i32.eq (local.get $kind) (i32.const 46)) (then (return (i32.const 0)))) ;; .
    (if (i32.eq (local.get $kind) (i32.const 61)) (then ;; =
      (local.set $size (i32.sub (local.get $size) (i32.const 1)))
      (call $output_set (call $to_block (i32.add (local.get $p) (i32.const 1)) (local.get $size))
        (i64.extend_i32_u (local.get $size)))
      (return (i32.const 0))))
    (if (i32.eq (local.get $kind) (i32.const 33)) (then ;; !
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (local.set $size (i32.sub (local.get $size) (i32.const 1)))))
    (call $error_set (call $to_block (local.get $p) (local.get $size)))
    (i32.const -1))

  ;; copies the input, in an allocation of its own
  (func $from_input (param $size i32) (result i32)
    (local $p i32) (local $i i32)
    (local.set $p (call $malloc (i32.add (local.get $size) (i32.const 1))))
    (if (i32.eqz (local.get $p)) (then (unreachable)))
    (block $rest
      (loop $next
        (br_if $rest (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
        (i64.store align=1 (i32.add (local.get $p) (local.get $i)) (call $input_u64 (i64.extend_i32_u (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
        (i32.store8 (i32.add (local.get $p) (local.get $i)) (call $input_u8 (i64.extend_i32_u (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.store8 (i32.add (local.get $p) (local.get $size)) (i32.const 0))
    (local.get $p))

  ;; copies bytes into a block of the host
  (func $to_block (param $p i32) (param $size i32) (result i64)
    (local $block i64) (local $i i32)
    (local.set $block (call $block (i64.extend_i32_u (local.get $size))))
    (block $rest
      (loop $next
        (br_if $rest (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
        (call $store_u64 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
          (i64.load align=1 (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
        (call $store_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
          (i32.load8_u (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $block))

  ;; copies a block of the host, in an allocation of its own
  (func $copy_in (param $block i64) (param $size i32) (result i32)
    (local $p i32) (local $i i32)
    (local.set $p (call $malloc (i32.add (local.get $size) (i32.const 1))))
    (if (i32.eqz (local.get $p)) (then (unreachable)))
    (block $rest
      (loop $next
        (br_if $rest (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
        (i64.store align=1 (i32.add (local.get $p) (local.get $i))
          (call $load_u64 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
        (i32.store8 (i32.add (local.get $p) (local.get $i))
          (call $load_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $p))

  ;; a JavaScript string, or an ArrayBuffer, of a block of the host
  (func $from_block (param $block i64) (param $bytes i32) (result i32)
    (local $p i32) (local $value i32) (local $size i32)
    (local.set $size (i32.wrap_i64 (call $block_length (local.get $block))))
    (local.set $p (call $copy_in (local.get $block) (local.get $size)))
    (local.set $value (if (result i32) (local.get $bytes)
      (then (call $new_array_buffer (local.get $p) (local.get $size)))
      (else (call $new_string (local.get $p) (local.get $size)))))
    (call $free (local.get $p))
    (local.get $value))

  ;; a block of the host with the bytes of an ArrayBuffer, or with the text of any other value
  (func $value_block (param $value i32) (result i64)
    (local $text i32) (local $block i64)
    (if (call $is_array_buffer (local.get $value)) (then
      (local.set $text (call $get_array_buffer (local.get $value) (i32.add (global.get $scratch) (i32.const 12))))
      (return (call $to_block (local.get $text) (i32.load offset=12 (global.get $scratch))))))
    (local.set $text (call $get_string (local.get $value) (i32.add (global.get $scratch) (i32.const 12))))
    (local.set $block (call $to_block (local.get $text) (i32.load offset=12 (global.get $scratch))))
    (call $free_cstring (local.get $text))
    (local.get $block))

  ;; an argument that is a number, and a result
  (func $handle (param $argument i32) (result i64)
    (i64.trunc_sat_f64_u (call $get_float64 (i32.load (local.get $argument)))))
  (func $number (param $value i64) (result i32) (call $new_number (f64.convert_i64_u (local.get $value))))

  (func $log (param $arguments i32) (result i32)
    (local $block i64) (local $level i32)
    (local.set $block (call $value_block (i32.load offset=4 (local.get $arguments))))
    (local.set $level (i32.trunc_sat_f64_s (call $get_float64 (i32.load (local.get $arguments)))))
    (if (i32.eqz (local.get $level)) (then (call $log_debug (local.get $block))))
    (if (i32.eq (local.get $level) (i32.const 1)) (then (call $log_info (local.get $block))))
    (if (i32.eq (local.get $level) (i32.const 2)) (then (call $log_warn (local.get $block))))
    (if (i32.eq (local.get $level) (i32.const 3)) (then (call $log_error (local.get $block))))
    (call $get_undefined))

  ;; a copy of an ASCII text with the 26 letters from the second argument on in the other case, eight bytes at
  ;; a time; undefined for other texts
  (func $other_case (param $arguments i32) (result i32)
    (local $from i32) (local $to i32) (local $i i32) (local $size i32) (local $value i32) (local $base i64) (local $eight i64)
    (local.set $from (call $get_string (i32.load (local.get $arguments)) (i32.add (global.get $scratch) (i32.const 12))))
    (local.set $size (i32.load offset=12 (global.get $scratch)))
    (local.set $base (call $handle (i32.add (local.get $arguments) (i32.const 4))))
    (local.set $to (call $malloc (i32.add (local.get $size) (i32.const 8))))
    (if (i32.eqz (local.get $to)) (then (unreachable)))
    (block $done
      (loop $next
        (if (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size))
          (then ;; the last bytes, with zeros after them
            (i64.store align=1 (i32.add (local.get $to) (local.get $i)) (i64.const 0))
            (memory.copy (i32.add (local.get $to) (local.get $i)) (i32.add (local.get $from) (local.get $i))
              (i32.sub (local.get $size) (local.get $i)))
            (local.set $eight (i64.load align=1 (i32.add (local.get $to) (local.get $i)))))
          (else (local.set $eight (i64.load align=1 (i32.add (local.get $from) (local.get $i))))))
        (br_if $done (i64.ne (i64.and (local.get $eight) (i64.const 0x8080808080808080)) (i64.const 0)))
        ;; The upper bit of each sum says that a byte is at or after the first letter, or after the last one.
        (i64.store align=1 (i32.add (local.get $to) (local.get $i))
          (i64.xor (local.get $eight)
            (i64.shr_u (i64.and (i64.const 0x8080808080808080) (i64.xor
              (i64.add (local.get $eight) (i64.mul (i64.const 0x0101010101010101) (i64.sub (i64.const 128) (local.get $base))))
              (i64.add (local.get $eight) (i64.mul (i64.const 0x0101010101010101) (i64.sub (i64.const 102) (local.get $base))))))
              (i64.const 2))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br_if $next (i32.lt_u (local.get $i) (local.get $size))))
      (local.set $value (call $new_string (local.get $to) (local.get $size))))
    (call $free_cstring (local.get $from))
    (call $free (local.get $to))
    (if (result i32) (local.get $value) (then (local.get $value)) (else (call $get_undefined)))) ;; each is an allocation

  (func $config (param $arguments i32) (result i32)
    (local $block i64)
    (local.set $block (call $config_get (call $value_block (i32.load (local.get $arguments)))))
    (if (i64.eqz (local.get $block)) (then (return (call $get_null))))
    (call $from_block (local.get $block) (i32.const 0)))

  ;; runs the jobs of promises; returns what one threw, or undefined
  (func $run_jobs (result i32)
    (loop $next
      (if (call $is_job_pending) (then
        (if (i32.lt_s (call $execute_job) (i32.const 0)) (then (return (call $get_exception))))
        (br $next))))
    (call $get_undefined))

  (func $watch_rejections (param $function i32) (result i32)
    (global.set $rejected (call $dup_value (local.get $function)))
    (call $tell_rejections (i32.const 1))
    (call $get_undefined))

  ;; an ArrayBuffer of so many random bytes
  (func $random_bytes (param $arguments i32) (result i32)
    (local $p i32) (local $size i32) (local $value i32)
    (local.set $size (i32.trunc_sat_f64_u (call $get_float64 (i32.load (local.get $arguments)))))
    (local.set $p (call $malloc (i32.add (local.get $size) (i32.const 1))))
    (if (i32.eqz (local.get $p)) (then (unreachable)))
    (if (call $random (local.get $p) (local.get $size)) (then (unreachable)))
    (local.set $value (call $new_array_buffer (local.get $p) (local.get $size)))
    (call $free (local.get $p))
    (local.get $value))
@SLEEP@
  ;; what the engine calls for a function that $define made: the letter at the end of its name
  ;; tells which one
  (func (export "host_call") (param $name i32) (param $length i32) (param $this i32) (param $count i32) (param $arguments i32) (result i32)
    (local $letter i32)
    (local.set $letter (i32.load8_u offset=6 (local.get $name)))
@CALLS@
    (call $get_undefined))

  ;; what the engine asks of its host otherwise: UTC, never interrupted, no modules
  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_promise_rejection") (param $promise i32) (param $reason i32) (param $handled i32)
    (local $arguments i32)
    (local.set $arguments (call $malloc (i32.const 12)))
    (i32.store (local.get $arguments) (local.get $promise))
    (i32.store offset=4 (local.get $arguments) (local.get $reason))
    (i32.store offset=8 (local.get $arguments) (call $new_number (f64.convert_i32_s (local.get $handled))))
    (call $free_value (call $qjs_call (global.get $rejected) (call $get_undefined) (i32.const 3) (local.get $arguments)))
    (call $free_value (local.get $promise))
    (call $free_value (local.get $reason))
    (call $free_value (i32.load offset=8 (local.get $arguments)))
    (call $free (local.get $arguments)))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))
)
