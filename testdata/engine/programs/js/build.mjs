// node build.mjs PACKAGES OUT: links programs.js with the QuickJS engine into one
// module that exports its functions by the convention of Extism. PACKAGES is the
// node_modules that holds quickjs-wasi, wabt and binaryen.
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';

const [packages, out] = process.argv.slice(2);
const source = fs.readFileSync(new URL('programs.js', import.meta.url));
const names = [...source.toString().matchAll(/^globalThis\.(\w+)/gm)].map(m => m[1]);
const escape = text => [...Buffer.from(text)].map(byte => '\\' + byte.toString(16).padStart(2, '0')).join('');

// The functions the engine asks its host for; these programs need none of them.
const stubs = `
 (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
 (func (export "host_interrupt") (result i32) (i32.const 0))
 (func (export "host_promise_rejection") (param i32 i32 i32))
 (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
 (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))
 (func (export "host_call") (param i32 i32 i32 i32 i32) (result i32) (i32.const 0))`;

const glue = `(module
 (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
 (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
 (import "extism:host/env" "output_set" (func $output (param i64 i64)))
 (import "qjs" "memory" (memory 18))
 (import "qjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
 (import "qjs" "_initialize" (func $start))
 (import "qjs" "qjs_init" (func $init (result i32)))
 (import "qjs" "qjs_eval" (func $eval (param i32 i32 i32 i32) (result i32)))
 (import "qjs" "qjs_get_global" (func $global (result i32)))
 (import "qjs" "qjs_get_prop_string" (func $get (param i32 i32) (result i32)))
 (import "qjs" "qjs_call" (func $call (param i32 i32 i32 i32) (result i32)))
 (import "qjs" "qjs_get_string_len" (func $text (param i32 i32) (result i32)))
 (import "qjs" "qjs_free_cstring" (func $free_text (param i32)))
 (import "qjs" "qjs_free_value" (func $free (param i32)))
 (import "qjs" "qjs_is_exception" (func $failed (param i32) (result i32)))
 (global $self (mut i32) (i32.const 0))
 (global $name (mut i32) (i32.const 0))
 (data $source "${escape(source)}\\00")
 (data $file "programs.js\\00")
${names.map(n => ` (data $${n} "${n}\\00")`).join('\n')}
 (func (export "__wasm_call_ctors") (local $at i32) (local $value i32)
  (call $start)
  (drop (call $init))
  (global.set $name (call $malloc (i32.const 64)))
  (local.set $at (call $malloc (i32.const ${source.length + 1})))
  (memory.init $source (local.get $at) (i32.const 0) (i32.const ${source.length + 1}))
  (memory.init $file (global.get $name) (i32.const 0) (i32.const 12))
  (local.set $value (call $eval (local.get $at) (i32.const ${source.length}) (global.get $name) (i32.const 0)))
  (if (call $failed (local.get $value)) (then unreachable))
  (call $free (local.get $value))
  (global.set $self (call $global)))
 ;; calls the function whose name is there, and answers the eight characters it gives back
 (func $run (result i32) (local $f i32) (local $value i32) (local $text i32) (local $block i64)
  (local.set $f (call $get (global.get $self) (global.get $name)))
  (local.set $value (call $call (local.get $f) (global.get $self) (i32.const 0) (global.get $name)))
  (call $free (local.get $f))
  (if (call $failed (local.get $value)) (then unreachable))
  (local.set $text (call $text (local.get $value) (global.get $name)))
  (local.set $block (call $alloc (i64.const 8)))
  (call $store (local.get $block) (i64.load align=1 (local.get $text)))
  (call $output (local.get $block) (i64.const 8))
  (call $free_text (local.get $text))
  (call $free (local.get $value))
  (i32.const 0))
${names.map(n => ` (func (export "${n}") (result i32)
  (memory.init $${n} (global.get $name) (i32.const 0) (i32.const ${n.length + 1}))
  (call $run))`).join('\n')}
${stubs})`;

const folder = fs.mkdtempSync(out + '-');
const at = name => path.join(folder, name);
const tool = (name, ...args) =>
  execFileSync(path.join(packages, '.bin', name), args, { stdio: ['ignore', 'ignore', 'inherit'] });
const features = ['bulk-memory', 'bulk-memory-opt', 'sign-ext', 'nontrapping-float-to-int', 'mutable-globals', 'reference-types', 'multivalue']
  .map(f => `--enable-${f}`);
const roots = ['memory', '__wasm_call_ctors', ...names].map(name => ({ name, root: true, export: name }));

fs.writeFileSync(at('glue.wat'), glue);
fs.writeFileSync(at('roots.json'), JSON.stringify(roots));
tool('wat2wasm', at('glue.wat'), '-o', at('glue.wasm'));
tool('wasm-merge', ...features, at('glue.wasm'), 'env', path.join(packages, 'quickjs-wasi', 'quickjs.wasm'), 'qjs',
  '--skip-export-conflicts', '-o', at('merged.wasm'));
tool('wasm-metadce', ...features, at('merged.wasm'), '--graph-file', at('roots.json'), '-o', out, '-O2');
fs.rmSync(folder, { recursive: true });
