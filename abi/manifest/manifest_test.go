package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

const full = `{
	"abi": 1, "name": "bm25-retriever", "version": "0.1.0-rc.1+build.5", "description": "d", "license": "MIT", "homepage": "https://example.com",
	"operations": {
		"retrieve": {"max_priority": 5, "settings": {"type": "object"}, "defaults": {"priority": 10, "top_k": 20, "timeout": "2s", "on_error": "raise"}},
		"rerank": {"reads": ["text", "score"], "writes": ["score"]},
		"init": {}, "provide": null, "estimate_tokens": {}
	},
	"permissions": [
		{"kind": "files", "guest": "/docs", "mode": "ro", "reason": "reads the documents"},
		{"kind": "http", "hosts": ["api.example.com", "*.example.org"], "methods": ["GET"], "reason": "asks"},
		{"kind": "kv", "quota": "1MiB", "reason": "remembers"},
		{"kind": "service", "service": "count_tokens", "reason": "counts"}
	],
	"limits": {"timeout": "1s", "init_timeout": "60s", "memory": "128MiB", "output": "1MiB"},
	"settings": {"type": "object", "additionalProperties": false}
}`

func TestParse(t *testing.T) {
	m, err := Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "bm25-retriever" || m.Operations[abi.OpRetrieve].Defaults.TopK != 20 || len(m.Permissions) != 4 || m.Limits.Memory != "128MiB" {
		t.Errorf("got %+v", m)
	}
	if got := m.Reads(abi.OpRerank).String(); got != "score,text" {
		t.Errorf("reads %q", got)
	}
	for op, want := range map[abi.Operation]string{abi.OpRerank: "score", abi.OpRetrieve: "items", abi.OpFilter: "", abi.OpInit: ""} {
		if got := m.Writes(op).String(); got != want {
			t.Errorf("%s writes %q, want %q", op, got, want)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	var x, y any
	_ = json.Unmarshal(b, &x)
	b2, _ := json.Marshal(again)
	_ = json.Unmarshal(b2, &y)
	if !reflect.DeepEqual(x, y) {
		t.Errorf("round trip:\n%s\n%s", b, b2)
	}
}

// with is a sound manifest with one operation's spec and more keys.
func with(operations, more string) string {
	return fmt.Sprintf(`{"abi":1,"name":"p","version":"1.0.0","operations":{%s}%s}`, operations, more)
}

func TestParseErrors(t *testing.T) {
	filter := `"filter":{}`
	perm := func(p string) string { return with(filter, `,"permissions":[`+p+`]`) }
	cases := []struct{ in, want string }{
		{``, "manifest is not JSON: it ends too early"},
		{`[]`, "manifest is a list (want an object)"},
		{"{\"name\":\"\xff\"}", "manifest is not valid UTF-8"},
		{`{"abi":1`, "manifest is not JSON: it ends too early"},
		{`{"abi":1} x`, "manifest data follows the JSON value (want one value only)"},
		{`{"abi":1,"abi":1}`, "manifest: abi: is stated twice (state it once)"},
		{`{"abi":"1"}`, `manifest: abi: is "1" (want a whole number)`},
		{`{"abi":1.5}`, "manifest: abi: is 1.5 (want a whole number)"},
		{`{"nmae":"x"}`, `manifest: nmae: unknown key (did you mean "name"?)`},
		{`{"zzzzzzzz":1}`, "manifest: zzzzzzzz: unknown key (want one of abi, name, version, description, license, homepage, deprecated, operations, permissions, limits, settings, self_test)"},
		{`{}`, "manifest: abi: is missing (want 1)"},
		{`{"abi":2,"name":"p"}`, "manifest: abi: is 2, this side speaks 1 (build the plugin with an SDK for version 1)"},
		{`{"abi":1}`, "manifest: name: is missing (want lower-case letters, digits and hyphens)"},
		{`{"abi":1,"name":"My Plugin"}`, `manifest: name: "My Plugin" is not a name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{`{"abi":1,"name":"p"}`, "manifest: version: is missing (want a semantic version such as 0.1.0)"},
		{`{"abi":1,"name":"p","version":"1.0"}`, `manifest: version: "1.0" is not a semantic version (want one such as 0.1.0)`},
		{with("", ""), "manifest: operations: is empty (name at least one operation)"},
		{with(`"init":{}`, ""), "manifest: operations: has only init (name an operation that a step can use)"},
		{with(`"filtr":{}`, ""), `manifest: operations.filtr: unknown key (did you mean "filter"?)`},
		{with(`"filter":[]`, ""), "manifest: operations.filter: is a list (want an object)"},
		{with(`"filter":{"read":["id"]}`, ""), `manifest: operations.filter.read: unknown key (did you mean "reads"?)`},
		{with(`"filter":{"reads":"id"}`, ""), `manifest: operations.filter.reads: is "id" (want a list)`},
		{`{"abi":1,"name":"p","version":0.1}`, "manifest: version: is the number 0.1 (want a string such as 0.1.0)"},
		{with(`"filter":{}`, `,"limits":{"timeout":2}`), "manifest: limits.timeout: is the number 2 (want a string such as 2s)"},
		{with(`"filter":{}`, `,"limits":{"memory":64}`), "manifest: limits.memory: is the number 64 (want a string such as 64MiB)"},
		{with(`"filter":{"reads":["id",3]}`, ""), "manifest: operations.filter.reads[1]: is 3 (want a string)"},
		{with(`"filter":{"reads":["content"]}`, ""), `manifest: operations.filter.reads[0]: unknown column "content" (want one of id, score, text, metadata, source, priority, token_count, created_at, embedding, query_text, query_embedding, query_metadata, chat_history, none)`},
		{with(`"filter":{"reads":["scores"]}`, ""), `manifest: operations.filter.reads[0]: unknown column "scores" (did you mean "score"?)`},
		{with(`"filter":{"reads":["vector"]}`, ""), `manifest: operations.filter.reads[0]: unknown column "vector" (want one of id, score, text, metadata, source, priority, token_count, created_at, embedding, query_text, query_embedding, query_metadata, chat_history, none)`},
		{with(`"filter":{"reads":["id","id"]}`, ""), "manifest: operations.filter.reads[1]: names id again (name each column once)"},
		{with(`"filter":{"writes":["order"]}`, ""), "manifest: operations.filter.writes[0]: filter cannot change order (want one of keep)"},
		{with(`"process":{"writes":["texts"]}`, ""), `manifest: operations.process.writes[0]: unknown change "texts" (did you mean "text"?)`},
		{with(`"process":{"writes":["text","text"]}`, ""), "manifest: operations.process.writes[1]: names text again (name each change once)"},
		{with(`"classify":{"reads":["text"]}`, ""), `manifest: operations.classify.reads[0]: unknown column "text" (want one of query_text, query_embedding, query_metadata, chat_history, none)`},
		{with(`"compact":{"reads":["role","content"]}`, ""), `manifest: operations.compact.reads: lacks summary (the answer replaces what it stands for; name it)`},
		{with(`"compact":{"reads":["summary"]}`, ""), `manifest: operations.compact.reads: lacks content (the answer replaces what it stands for; name it)`},
		{with(`"distill":{"reads":["none"]}`, ""), `manifest: operations.distill.reads: lacks messages (the answer replaces what it stands for; name it)`},
		{with(`"distill":{"reads":["messages","observations"]}`, ""), `manifest: operations.distill.reads: lacks reflection (the answer replaces what it stands for; name it)`},
		{with(`"provide":{"reads":["message"]}`, ""), `manifest: operations.provide.reads[0]: unknown column "message" (did you mean "messages"?)`},
		{with(`"compact":{"reads":["role","role"]}`, ""), `manifest: operations.compact.reads[1]: names role again (name each column once)`},
		{with(`"count_tokens":{"reads":["text"]}`, ""), "manifest: operations.count_tokens.reads: has no meaning (count_tokens receives what it must have; remove it)"},
		{with(`"retrieve":{"reads":["text"]}`, ""), `manifest: operations.retrieve.reads[0]: unknown column "text" (want one of query_text, query_embedding, query_metadata, chat_history, none)`},
		{with(`"classify":{"writes":["keep"]}`, ""), "manifest: operations.classify.writes: has no meaning (classify changes no items; remove it)"},
		{with(`"filter":{"max_priority":3}`, ""), "manifest: operations.filter.max_priority: has no meaning (the operation writes neither items nor priority; add one to writes or remove it)"},
		{with(`"retrieve":{"max_priority":11}`, ""), "manifest: operations.retrieve.max_priority: is 11 (want 1 to 10)"},
		{with(`"filter":{"timeless":true}`, ""), "manifest: operations.filter.timeless: has no meaning (only init has it; remove it)"},
		{with(filter+`,"init":{"timeless":1}`, ""), "manifest: operations.init.timeless: is 1 (want true or false)"},
		{with(`"filter":{"settings":true}`, ""), "manifest: operations.filter.settings: is true (want a JSON Schema, an object)"},
		{with(filter+`,"init":{"settings":{}}`, ""), "manifest: operations.init.settings: is in the wrong place (the schema of the init settings is settings at the top)"},
		{with(filter+`,"init":{"defaults":{"timeout":"1s"}}`, ""), "manifest: operations.init.defaults.timeout: is in the wrong place (the time of init is limits.init_timeout)"},
		{with(`"filter":{"defaults":{"top_k":3}}`, ""), "manifest: operations.filter.defaults.top_k: has no meaning (filter returns no ranked items; remove it)"},
		{with(`"rerank":{"defaults":{"top_k":-3}}`, ""), "manifest: operations.rerank.defaults.top_k: is -3 (want 1 or more)"},
		{with(`"memory":{"defaults":{"priority":3}}`, ""), "manifest: operations.memory.defaults.priority: has no meaning (memory is not a step; remove it)"},
		{with(`"filter":{"defaults":{"on_error":"ignore"}}`, ""), `manifest: operations.filter.defaults.on_error: is "ignore" (want raise or skip)`},
		{with(`"filter":{"defaults":{"timeout":"2"}}`, ""), `manifest: operations.filter.defaults.timeout: duration "2" is malformed (want a number above 0 with one of the units ms, s, m, h, such as 2s)`},
		{with(`"estimate_tokens":{}`, ""), "manifest: operations.estimate_tokens: has no provide to estimate for (add operations.provide)"},
		{with(filter, `,"limits":{"memory":"64MB"}`), `manifest: limits.memory: size "64MB" is malformed (want a number with one of the units B, KiB, MiB, GiB, such as 64MiB)`},
		{with(filter, `,"self_test":{}`), "manifest: self_test: is an object (want a list)"},
		{with(filter, `,"self_test":[{"inputs":{}}]`), `manifest: self_test[0].inputs: unknown key (did you mean "input"?)`},
		{with(filter, `,"self_test":[{"input":{},"output":null}]`), "manifest: self_test[0].operation: is missing (name one of the plugin's operations)"},
		{with(filter, `,"self_test":[{"operation":"rerank","input":{},"output":null}]`), `manifest: self_test[0].operation: "rerank" is not an operation of the plugin that can be called`},
		{with(filter, `,"self_test":[{"operation":"filter","output":null}]`), "manifest: self_test[0].input: is no object (want the request document of filter)"},
		{with(filter, `,"self_test":[{"operation":"filter","input":{}}]`), "manifest: self_test[0].output: is missing (want the answer, or null for no change)"},
		{with(filter, `,"self_test":[`+strings.Repeat(`{"operation":"filter","input":{},"output":null},`, 16)+`{"operation":"filter","input":{},"output":null}]`), "manifest: self_test: has 17 calls (want at most 16)"},
		{with(filter, `,"limits":{"memory":"1KiB"}`), "manifest: limits.memory: is 1KiB (want 64KiB to 4GiB)"},
		{with(filter, `,"limits":{"timeout":"-1s"}`), `manifest: limits.timeout: duration "-1s" is malformed (want a number above 0 with one of the units ms, s, m, h, such as 2s)`},
		{with(filter, `,"limits":{"cpus":"1s"}`), `manifest: limits.cpus: unknown key (want one of timeout, init_timeout, memory, output)`},
		{with(filter, `,"settings":[]`), "manifest: settings: is a list (want a JSON Schema, an object)"},
		{with(filter, `,"permissions":{}`), "manifest: permissions: is an object (want a list)"},
		{perm(`{}`), "manifest: permissions[0].kind: is missing (want one of http, files, kv, service)"},
		{perm(`{"kind":"count_tokens","reason":"r"}`), `manifest: permissions[0].kind: is the service "count_tokens" (want kind: service, service: count_tokens)`},
		{perm(`{"kind":"file","reason":"r"}`), `manifest: permissions[0].kind: unknown permission "file" (did you mean "files"?)`},
		{perm(`{"kind":"kv"}`), "manifest: permissions[0].reason: is missing (say in a few words why the plugin needs kv)"},
		{perm(`{"kind":"kv","reason":"r","guest":"/x"}`), "manifest: permissions[0].guest: does not belong to permission kv (which has quota)"},
		{perm(`{"kind":"kv","reason":"r","quota":"0B"}`), `manifest: permissions[0].quota: size "0B" is malformed (want a whole number above 0 with a unit, such as 64MiB)`},
		{perm(`{"kind":"files","reason":"r","guest":"docs"}`), `manifest: permissions[0].guest: is "docs" (want the absolute path that the guest sees, such as /docs)`},
		{perm(`{"kind":"files","reason":"r","guest":"/a/../b"}`), `manifest: permissions[0].guest: is "/a/../b" (want the absolute path that the guest sees, such as /docs)`},
		{perm(`{"kind":"files","reason":"r","guest":"/docs","mode":"w"}`), `manifest: permissions[0].mode: is "w" (want ro or rw)`},
		{perm(`{"kind":"http","reason":"r"}`), "manifest: permissions[0].hosts: is empty (name the hosts, such as api.example.com or *.example.com, or leave them to the operator with from_grant)"},
		{perm(`{"kind":"http","reason":"r","hosts":[]}`), "manifest: permissions[0].hosts: is empty (name the hosts, such as api.example.com or *.example.com, or leave them to the operator with from_grant)"},
		{perm(`{"kind":"http","reason":"r","hosts":"*"}`), `manifest: permissions[0].hosts: is "*" (want a list of hosts, or from_grant)`},
		{perm(`{"kind":"http","reason":"r","hosts":""}`), `manifest: permissions[0].hosts: is "" (want a list of hosts, or from_grant)`},
		{perm(`{"kind":"kv","reason":"r","hosts":"from_grant"}`), "manifest: permissions[0].hosts: does not belong to permission kv (which has quota)"},
		{perm(`{"kind":"http","reason":"r","hosts":["https://x.org/"]}`), `manifest: permissions[0].hosts[0]: is "https://x.org/" (` + errHostPattern.Error() + `)`},
		{perm(`{"kind":"http","reason":"r","hosts":["::1","[::1]","10.0.0.1","fe80::1%eth0"]}`), `manifest: permissions[0].hosts[3]: is "fe80::1%eth0" (` + errHostPattern.Error() + `)`},
		{perm(`{"kind":"http","reason":"r","hosts":["[10.0.0.1]"]}`), `manifest: permissions[0].hosts[0]: is "[10.0.0.1]" (` + errHostPattern.Error() + `)`},
		{perm(`{"kind":"http","reason":"r","hosts":["x.org"],"methods":["get"]}`), `manifest: permissions[0].methods[0]: is "get" (want a method in capitals, such as GET)`},
		{perm(`{"kind":"service","reason":"r","service":"tokens"}`), `manifest: permissions[0].service: unknown service "tokens" (want one of count_tokens, embed, search, llm)`},
	}
	for _, tc := range cases {
		m, err := Parse([]byte(tc.in))
		var me *Error
		if m != nil || err == nil || err.Error() != tc.want || !errors.Is(err, ErrInvalid) || !errors.As(err, &me) {
			t.Errorf("%s\n got %v\nwant %s", tc.in, err, tc.want)
		}
	}
	if _, err := Parse([]byte(`{"abi":2}`)); !errors.Is(err, ErrABIVersion) {
		t.Errorf("got %v, want ErrABIVersion", err)
	}
}

// Every operation can be stated with nothing but its name.
func TestEachOperationNeedsOnlyItsName(t *testing.T) {
	for _, info := range abi.Operations {
		spec := `"` + string(info.Op) + `":{}`
		switch info.Op {
		case abi.OpInit:
			spec += `,"filter":{}`
		case abi.OpEstimateTokens:
			spec += `,"provide":{}`
		}
		if _, err := Parse([]byte(with(spec, ""))); err != nil {
			t.Errorf("%s: %v", info.Op, err)
		}
	}
}

// The table of permissions names the keys that exist.
func TestPermissionKeys(t *testing.T) {
	var keys []string
	for _, f := range permissionFields {
		keys = append(keys, f.keys...)
	}
	slices.Sort(keys)
	want := []string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Permission]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "kind" && name != "reason" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("permission keys: %q, members %q", keys, want)
	}
}

// A manifest of before there were parts could say that an operation reads no column: it
// received the whole request, and does.
func TestEmptyReadsAreWhole(t *testing.T) {
	for _, info := range abi.Operations {
		if len(info.Parts) == 0 {
			continue
		}
		m := Manifest{Operations: map[abi.Operation]OperationSpec{info.Op: {Reads: []string{}}}}
		if !m.Parts(info.Op).Whole() || m.Reads(info.Op) != 0 {
			t.Errorf("%s reads %s, %s", info.Op, m.Reads(info.Op), m.Parts(info.Op))
		}
	}
}
