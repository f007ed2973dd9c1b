package pybuild

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/component"
)

// The shell is what stands between the host and the component: the exports of the contract, the
// functions that Python calls, and the answers to the system interface. It owns the pages behind
// the memory of the component:
//
//	0   the mailbox
//	32  16 bytes for numbers
//	64  the size of the bundle, and the bundle: what Python executes when it starts
const (
	mailboxAt = 0
	scratchAt = 32
	bundleAt  = 64
)

// bundleMark stands for the bundle in a base.
const bundleMark = "anchor: the bundle of a plugin"

// callable are the functions of the host that Python calls, in the order of their numbers from
// firstCallable on, and the permission without which they are not imported. runner.py has the same
// order.
var callable = []struct {
	permission, module, name string
	params                   int
	result                   string
}{
	{"", env, "log_debug", 1, ""},
	{"", env, "log_info", 1, ""},
	{"", env, "log_warn", 1, ""},
	{"", env, "log_error", 1, ""},
	{"", env, "config_get", 1, "i64"},
	{"http", env, "http_request", 2, "i64"},
	{"http", env, "http_status_code", 0, "i32"},
	{"http", env, "http_headers", 0, "i64"},
	{"http", user, "anchor_http_batch", 1, "i64"},
	{"kv", user, "anchor_kv_get", 1, "i64"},
	{"kv", user, "anchor_kv_set", 2, "i32"},
	{"count_tokens", user, "anchor_count_tokens", 1, "i64"},
	{"embed", user, "anchor_embed", 1, "i64"},
	{"search", user, "anchor_search", 1, "i64"},
	{"llm", user, "anchor_llm", 1, "i64"},
}

const (
	firstCallable = 2
	env           = "extism:host/env"
	user          = "extism:host/user"
	preview       = "wasi_snapshot_preview1"
)

// shell returns the shell for a component with some imports and a memory that ends at end.
func shell(imports []component.Import, end uint32, permissions []string) ([]byte, error) {
	a := &assembly{memory: [2]string{component.Exported + ".run", component.Memory}, globals: []string{"out", "capacity"}}
	a.imports = shellImports(permissions)
	for i, o := range abi.Operations {
		a.funcs = append(a.funcs, wasmFunc{name: "operation" + strconv.Itoa(i), export: "anchor_" + string(o.Op), result: "i32",
			body: fmt.Sprintf("i32.const %d call $serve", i)})
	}
	a.funcs = slices.Concat(a.funcs, contract(end), serving(end), copies())
	a.funcs = append(a.funcs, wasmFunc{name: "called", params: []string{"op i32", "p i32", "n i32", "ret i32"}, body: callBody(permissions)})
	for i, im := range imports {
		f := answer(im, end)
		f.name, f.export, f.typ = "answer"+strconv.Itoa(i), im.Export(), im.Type
		for p := range im.Type[1] { // the parameters are numbered
			f.params = append(f.params, strconv.Itoa(int(p))+" i32")
		}
		a.funcs = append(a.funcs, f)
	}
	size := binary.LittleEndian.AppendUint32(nil, 28)
	a.datas = []wasmData{{end + mailboxAt, size}, {end + bundleAt, []byte(bundleMark)}}
	return a.module()
}

func shellImports(permissions []string) []wasmFunc {
	run, boot := component.Exported+".run", component.Exported+".boot"
	list := []wasmFunc{
		{name: "realloc", module: run, field: component.Realloc, params: []string{"i32", "i32", "i32", "i32"}, result: "i32"},
		{name: "boot", module: boot, field: component.Call, params: []string{"i32", "i32"}, result: "i32"},
		{name: "booted", module: boot, field: component.Post, params: []string{"i32"}},
		{name: "run", module: run, field: component.Call, params: []string{"i32", "i32", "i32"}, result: "i32"},
		{name: "ran", module: run, field: component.Post, params: []string{"i32"}},
		{name: "alloc", module: env, field: "alloc", params: []string{"i64"}, result: "i64"},
		{name: "length", module: env, field: "length", params: []string{"i64"}, result: "i64"},
		{name: "load_u8", module: env, field: "load_u8", params: []string{"i64"}, result: "i32"},
		{name: "load_u64", module: env, field: "load_u64", params: []string{"i64"}, result: "i64"},
		{name: "store_u8", module: env, field: "store_u8", params: []string{"i64", "i32"}},
		{name: "store_u64", module: env, field: "store_u64", params: []string{"i64", "i64"}},
		{name: "input_length", module: env, field: "input_length", result: "i64"},
		{name: "input_u8", module: env, field: "input_load_u8", params: []string{"i64"}, result: "i32"},
		{name: "input_u64", module: env, field: "input_load_u64", params: []string{"i64"}, result: "i64"},
		{name: "output_set", module: env, field: "output_set", params: []string{"i64", "i64"}},
		{name: "error_set", module: env, field: "error_set", params: []string{"i64"}},
		{name: "clock", module: preview, field: "clock_time_get", params: []string{"i32", "i64", "i32"}, result: "i32"},
		{name: "random", module: preview, field: "random_get", params: []string{"i32", "i32"}, result: "i32"},
	}
	for _, c := range callable {
		if c.permission == "" || slices.Contains(permissions, c.permission) {
			list = append(list, wasmFunc{name: c.name, module: c.module, field: c.name, params: slices.Repeat([]string{"i64"}, c.params), result: c.result})
		}
	}
	return list
}

// callBody is what Python calls: it makes a block, reads one, or calls a function of the host with
// handles.
func callBody(permissions []string) string {
	b := strings.Builder{}
	b.WriteString(`
	local.get $op i32.eqz if
		local.get $ret  local.get $p local.get $n call $to_block  call $number return
	end
	local.get $op i32.const 1 i32.eq if
		local.get $ret  local.get $p i64.load  call $from_block return
	end
	`)
	for i, c := range callable {
		if c.permission != "" && !slices.Contains(permissions, c.permission) {
			continue
		}
		fmt.Fprintf(&b, "local.get $op i32.const %d i32.eq if\nlocal.get $ret\n", firstCallable+i)
		for k := range c.params {
			fmt.Fprintf(&b, "local.get $p i64.load +%d\n", 8*k)
		}
		fmt.Fprintf(&b, "call $%s\n", c.name)
		switch c.result {
		case "i32":
			b.WriteString("i64.extend_i32_u\n")
		case "":
			b.WriteString("i64.const 0\n")
		}
		b.WriteString("call $number return\nend\n")
	}
	b.WriteString("unreachable")
	return b.String()
}

// contract are the functions of the shell that the host calls, without operations. end is where the
// memory of the component ends.
func contract(end uint32) []wasmFunc {
	return []wasmFunc{
		{name: "marker", export: "anchor_abi_1"},
		{name: "mailbox", export: "anchor_mailbox", result: "i32", body: placed(end, "i32.const @mailbox")},
		{name: "reserve", export: "anchor_reserve", params: []string{"n i32"}, result: "i32", body: placed(end, `
	local.get $n i32.const @mailbox i32.load +8 i32.gt_u if
		i32.const @mailbox  i32.const 0 i32.const 0 i32.const 8 local.get $n call $realloc  i32.store +4
		i32.const @mailbox  local.get $n  i32.store +8
	end
	i32.const @mailbox i32.load +4`)},
		{name: "initialize", export: "_initialize", locals: []string{"p i32", "n i32", "r i32"}, body: placed(end, `
	i32.const @bundle i32.load local.set $n
	i32.const 0 i32.const 0 i32.const 1 local.get $n call $realloc local.tee $p
	i32.const @bundle i32.const 4 i32.add local.get $n memory.copy
	local.get $p local.get $n call $boot local.tee $r
	i32.load +4 if
		local.get $r i32.load  local.get $r i32.load +4  call $to_block  call $log_error
		unreachable
	end
	local.get $r call $booted`)},
	}
}

// placed fills in the places of the mailbox and of the bundle.
func placed(end uint32, text string) string {
	return strings.NewReplacer("@mailbox", strconv.Itoa(int(end+mailboxAt)), "@bundle", strconv.Itoa(int(end+bundleAt))).Replace(text)
}

// serving are the functions that answer a request.
func serving(end uint32) []wasmFunc {
	return []wasmFunc{
		// A request is in the mailbox or in the input of Extism, and its answer goes the same way. Python
		// frees the request, so the buffer of the mailbox is then gone.
		{name: "serve", params: []string{"op i32"}, result: "i32", locals: []string{"p i32", "n i32", "r i32", "mail i32", "k i32"}, body: placed(end, `
	i32.const @mailbox i32.load +24 local.tee $mail if
		local.get $mail local.set $n
		i32.const @mailbox i32.load +4 local.set $p
		i32.const @mailbox i64.const 0 i64.store +4
		i32.const @mailbox i32.const 0 i32.store +24
	else
		call $input_length i32.wrap_i64 local.tee $n call $from_input local.set $p
	end
	i32.const @mailbox i64.const 0 i64.store +12
	local.get $op local.get $p local.get $n call $run local.tee $r
	i32.load local.set $p
	local.get $r i32.load +4 local.tee $n i32.eqz if
		local.get $r call $ran  i32.const 1 return
	end
	local.get $p i32.load8_u local.set $k
	local.get $p i32.const 1 i32.add local.set $p
	local.get $n i32.const 1 i32.sub local.set $n
	local.get $k i32.const 33 i32.eq if
		local.get $p local.get $n call $to_block call $error_set
		local.get $r call $ran  i32.const -1 return
	end
	local.get $n if
		local.get $mail if
			local.get $p local.get $n call $post
		else
			local.get $p local.get $n call $to_block  local.get $n i64.extend_i32_u  call $output_set
		end
	end
	local.get $r call $ran
	i32.const 0`)},
		// keeps an answer for the host after the component has freed it. The component cannot make a piece
		// of memory larger, so each buffer is twice as large as the one that it replaces.
		{name: "post", params: []string{"p i32", "n i32"}, body: placed(end, `
	local.get $n global.get $capacity i32.gt_u if
		global.get $capacity i32.const 1 i32.shl global.set $capacity
		local.get $n global.get $capacity i32.gt_u if
			local.get $n global.set $capacity
		end
		i32.const 0 i32.const 0 i32.const 1 global.get $capacity call $realloc global.set $out
	end
	global.get $out local.get $p local.get $n memory.copy
	i32.const @mailbox global.get $out i32.store +12
	i32.const @mailbox local.get $n i32.store +16`)},
	}
}

// copies are the functions of the shell that move bytes between blocks and the memory.
func copies() []wasmFunc {
	return []wasmFunc{
		{name: "number", params: []string{"ret i32", "v i64"}, locals: []string{"q i32"}, body: `
	i32.const 0 i32.const 0 i32.const 8 i32.const 8 call $realloc local.tee $q
	local.get $v i64.store
	local.get $ret local.get $q i32.store
	local.get $ret i32.const 8 i32.store +4`},
		{name: "from_input", params: []string{"n i32"}, result: "i32", locals: []string{"p i32", "i i32"}, body: copyLoop(`
			local.get $p local.get $i i32.add  local.get $i i64.extend_i32_u call $input_u64  i64.store`, `
			local.get $p local.get $i i32.add  local.get $i i64.extend_i32_u call $input_u8  i32.store8`, true) + " local.get $p"},
		{name: "from_block", params: []string{"ret i32", "h i64"}, locals: []string{"p i32", "i i32", "n i32"}, body: `
	local.get $h call $length i32.wrap_i64 local.set $n` + copyLoop(`
			local.get $p local.get $i i32.add  local.get $h local.get $i i64.extend_i32_u i64.add call $load_u64  i64.store`, `
			local.get $p local.get $i i32.add  local.get $h local.get $i i64.extend_i32_u i64.add call $load_u8  i32.store8`, true) + `
	local.get $ret local.get $p i32.store
	local.get $ret local.get $n i32.store +4`},
		{name: "to_block", params: []string{"p i32", "n i32"}, result: "i64", locals: []string{"h i64", "i i32"}, body: `
	local.get $n i64.extend_i32_u call $alloc local.set $h` + copyLoop(`
			local.get $h local.get $i i64.extend_i32_u i64.add  local.get $p local.get $i i32.add i64.load  call $store_u64`, `
			local.get $h local.get $i i64.extend_i32_u i64.add  local.get $p local.get $i i32.add i32.load8_u  call $store_u8`, false) + " local.get $h"},
	}
}

// copyLoop copies $n bytes, eight at a time as long as there are eight. It allocates the memory for
// them at $p if allocate is set.
func copyLoop(eight, one string, allocate bool) string {
	text := ""
	if allocate {
		text = "\n i32.const 0 i32.const 0 i32.const 1 local.get $n i32.const 1 i32.add call $realloc local.set $p"
	}
	part := func(step int, body string) string {
		return fmt.Sprintf(`
	block loop
		local.get $i i32.const %d i32.add local.get $n i32.gt_u br_if 1
		%s
		local.get $i i32.const %d i32.add local.set $i
		br 0
	end end`, step, body, step)
	}
	return text + part(8, eight) + part(1, one)
}

// answer returns what answers an import of the component. What no plugin needs traps.
func answer(im component.Import, end uint32) wasmFunc {
	name, _, _ := strings.Cut(im.Interface, "@")
	f := wasmFunc{body: "unreachable"}
	switch key := name + "#" + im.Name; {
	case key == "$root#call":
		f.body = "local.get 0 local.get 1 local.get 2 local.get 3 call $called"
	case strings.HasPrefix(im.Name, "[resource-drop]"), strings.HasSuffix(key, "pollable.block"):
		f.body = ""
	case key == "wasi:clocks/wall-clock#now":
		f.body = `
	i32.const 0 i64.const 1 local.get 0 call $clock drop
	local.get 0  local.get 0 i64.load i64.const 1000000000 i64.rem_u i32.wrap_i64  i32.store +8
	local.get 0  local.get 0 i64.load i64.const 1000000000 i64.div_u  i64.store`
	case key == "wasi:clocks/wall-clock#resolution":
		f.body = "local.get 0 i64.const 0 i64.store  local.get 0 i32.const 1 i32.store +8"
	case key == "wasi:clocks/monotonic-clock#now":
		f.body = fmt.Sprintf("i32.const 1 i64.const 1 i32.const %d call $clock drop  i32.const %d i64.load", end+scratchAt, end+scratchAt)
	case key == "wasi:clocks/monotonic-clock#resolution":
		f.body = "i64.const 1"
	case key == "wasi:random/random#get-random-bytes":
		f.locals = []string{"q i32"}
		f.body = `
	i32.const 0 i32.const 0 i32.const 1 local.get 0 i32.wrap_i64 call $realloc local.tee $q
	local.get 0 i32.wrap_i64 call $random if unreachable end
	local.get 1 local.get $q i32.store
	local.get 1 local.get 0 i32.wrap_i64 i32.store +4`
	case key == "wasi:random/random#get-random-u64":
		f.body = fmt.Sprintf("i32.const %d i32.const 8 call $random drop i32.const %d i64.load", end+scratchAt, end+scratchAt)
	case key == "wasi:random/insecure-seed#insecure-seed":
		f.body = "local.get 0 i32.const 16 call $random drop"
	case name == "wasi:cli/stdin", name == "wasi:cli/stdout", name == "wasi:cli/stderr":
		f.body = "i32.const 1"
	case strings.HasSuffix(key, "output-stream.check-write"):
		f.body = "local.get 1 i32.const 0 i32.store8  local.get 1 i64.const 65536 i64.store +8"
	case strings.HasSuffix(key, "output-stream.write"), strings.HasSuffix(key, "output-stream.blocking-write-and-flush"):
		f.body = "local.get 1 local.get 2 call $to_block call $log_info  local.get 3 i32.const 0 i32.store8"
	case strings.HasSuffix(key, "output-stream.blocking-flush"), strings.HasSuffix(key, "output-stream.flush"):
		f.body = "local.get 1 i32.const 0 i32.store8"
	case im.Name == "get-environment", im.Name == "get-arguments", im.Name == "get-directories":
		f.body = "local.get 0 i64.const 0 i64.store"
	case strings.HasPrefix(im.Name, "get-terminal-"):
		f.body = "local.get 0 i32.const 0 i32.store8"
	case strings.Contains(im.Name, "subscribe"):
		f.body = "i32.const 0"
	}
	return f
}
