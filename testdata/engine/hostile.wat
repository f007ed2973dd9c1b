;; Functions that never end by themselves, one way each.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (type $step (func (param i64) (result i64)))
  (memory (export "memory") 160 200)
  (table 2 funcref)
  (elem (i32.const 0) $fib_by_table $add)

  (func (export "loop") (result i32)
    (loop $again (br $again))
    (unreachable))

  ;; a loop around loops that end
  (func (export "nested_loops") (result i32) (local $i i32)
    (loop $outer
      (local.set $i (i32.const 1000))
      (loop $inner
        (br_if $inner (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
      (br $outer))
    (unreachable))

  ;; 10 MiB a turn, in one instruction
  (func (export "fill_loop") (result i32)
    (loop $again
      (memory.fill (i32.const 0) (i32.const 7) (i32.const 0xa00000))
      (br $again))
    (unreachable))

  (func (export "copy_loop") (result i32)
    (loop $again
      (memory.copy (i32.const 1) (i32.const 0) (i32.const 0x9f0000))
      (br $again))
    (unreachable))

  (func (export "grow_loop") (result i32)
    (loop $again
      (drop (memory.grow (i32.const 1)))
      (br $again))
    (unreachable))

  (func (export "table_loop") (result i32) (local $n i64)
    (loop $again
      (local.set $n (call_indirect (type $step) (local.get $n) (i32.const 1)))
      (br $again))
    (unreachable))
  (func $add (type $step) (i64.add (local.get 0) (i64.const 1)))

  ;; the host works, not the guest
  (func (export "host_loop") (result i32)
    (loop $again
      (call $free (call $alloc (i64.const 100000)))
      (br $again))
    (unreachable))

  ;; hours of calls that are never deep
  (func $fib (param $n i64) (result i64)
    (if (result i64) (i64.lt_s (local.get $n) (i64.const 2))
      (then (local.get $n))
      (else (i64.add
        (call $fib (i64.sub (local.get $n) (i64.const 1)))
        (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
  (func (export "recursion_in_width") (result i32)
    (drop (call $fib (i64.const 90)))
    (unreachable))

  (func $fib_by_table (type $step)
    (if (result i64) (i64.lt_s (local.get 0) (i64.const 2))
      (then (local.get 0))
      (else (i64.add
        (call_indirect (type $step) (i64.sub (local.get 0) (i64.const 1)) (i32.const 0))
        (call_indirect (type $step) (i64.sub (local.get 0) (i64.const 2)) (i32.const 0))))))
  (func (export "recursion_by_table") (result i32)
    (drop (call_indirect (type $step) (i64.const 90) (i32.const 0)))
    (unreachable))

  ;; calls until the stack is full, which may come before the deadline
  (func $down (param $n i64) (result i64)
    (i64.add (call $down (i64.add (local.get $n) (i64.const 1))) (i64.const 1)))
  (func (export "recursion_in_depth") (result i32)
    (drop (call $down (i64.const 0)))
    (unreachable))

  ;; the same just before the deadline, so that filling the stack falls onto it
  (func (export "recursion_at_deadline") (result i32)
    (call $wait)
    (drop (call $down (i64.const 0)))
    (unreachable))

  ;; the same with frames of more than a page, of which a call touches one: what is
  ;; in the way of the call is never done
  (func (export "wide_recursion_at_deadline") (result i32)
    (call $wait)
    (call $down_wide (i32.const 0))
    (unreachable))
  (func $down_wide (param $never i32)
    (if (local.get $never) (then
      (call $fill (call $many)) (call $many) (call $many) (call $many) (call $many)
      (call $fill) (call $fill) (call $fill) (call $fill)))
    (call $down_wide (local.get $never)))
  (func $many (result
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (unreachable))
  (func $fill (param
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128
    v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128))

  ;; returns when 49.5 ms are over, by the clock of the host
  (func $wait (local $end i64)
    (local.set $end (i64.add (call $now) (i64.const 49500000)))
    (loop $again (br_if $again (i64.lt_s (call $now) (local.get $end)))))
  (func $now (result i64)
    (drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 0)))
    (i64.load (i32.const 0)))
)
