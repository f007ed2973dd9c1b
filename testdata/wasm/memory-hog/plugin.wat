;; A filter that takes all the memory it can get.
(module
  (memory (export "memory") 1)
  (func (export "anchor_abi_1")) ;; speaks ABI 1
  (func (export "anchor_filter") (result i32)
    (loop $more ;; grows until it is refused, then dies as language runtimes do
      (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable)
)
