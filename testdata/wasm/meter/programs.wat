;; Programs for benchmarks and comparisons: calls, loops, memory.
(module
  (memory (export "memory") 2)
  (func $fib (export "fib") (param i32) (result i64)
    (if (result i64) (i32.lt_u (local.get 0) (i32.const 2))
      (then (i64.extend_i32_u (local.get 0)))
      (else (i64.add
        (call $fib (i32.sub (local.get 0) (i32.const 1)))
        (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  ;; xorshift, n rounds: a loop whose work stays in registers
  (func (export "loop") (param $n i32) (result i64) (local $x i64)
    (local.set $x (i64.const 88172645463325252))
    (loop $l
      (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 13))))
      (local.set $x (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 7))))
      (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 17))))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $x))
  ;; FNV-1a over n bytes of memory
  (func (export "fnv") (param $n i32) (result i64) (local $h i64) (local $p i32)
    (local.set $h (i64.const 0xcbf29ce484222325))
    (loop $l
      (local.set $h (i64.mul (i64.xor (local.get $h)
        (i64.load8_u (i32.and (local.get $p) (i32.const 0xffff)))) (i64.const 0x100000001b3)))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $p) (local.get $n))))
    (local.get $h))
  ;; sieve of Eratosthenes below n <= 65536: nested loops over memory
  (func (export "sieve") (param $n i32) (result i64) (local $i i32) (local $j i32) (local $c i64)
    (memory.fill (i32.const 0) (i32.const 0) (local.get $n))
    (local.set $i (i32.const 2))
    (loop $outer
      (if (i32.eqz (i32.load8_u (local.get $i)))
        (then
          (local.set $c (i64.add (local.get $c) (i64.const 1)))
          (local.set $j (i32.shl (local.get $i) (i32.const 1)))
          (block $done
            (loop $inner
              (br_if $done (i32.ge_u (local.get $j) (local.get $n)))
              (i32.store8 (local.get $j) (i32.const 1))
              (local.set $j (i32.add (local.get $j) (local.get $i)))
              (br $inner)))))
      (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $c))
)
