package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/spec"
)

// dice draws manifests from few values each, so that pairs are often alike.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) some(of ...string) []string {
	var out []string
	for _, s := range of {
		if d.IntN(2) == 0 {
			out = append(out, s)
		}
	}
	return out
}

var diceHosts = []string{
	"a.test", "a.test:*", "a.test:8443", "http://a.test", "http://a.test:*", "*.test", "*.a.test", "*.test:8443", "10.0.0.1", "http://10.0.0.1:*", "[::1]:8443",
}

func (d dice) permission() manifest.Permission {
	switch p := (manifest.Permission{Kind: d.one(manifest.PermissionHTTP, manifest.PermissionFiles, manifest.PermissionKV, manifest.PermissionService), Reason: "r"}); p.Kind {
	case manifest.PermissionHTTP:
		p.Hosts, p.Methods = append(d.some(diceHosts...), d.one(diceHosts...)), d.some("GET", "HEAD", "POST")
		return p
	case manifest.PermissionFiles:
		p.Guest, p.Mode = d.one("/a", "/b"), d.one("", "ro", "rw")
		return p
	case manifest.PermissionKV:
		p.Quota = d.one("", "1KiB", "1MiB", "2MiB")
		return p
	default:
		p.Service = "count_tokens"
		return p
	}
}

var diceReads = map[string][]string{
	"retrieve": {"query_text", "chat_history", "none"}, "process": {"id", "score", "text", "query_text", "chat_history", "none"}, "rerank": {"id", "score", "text"},
}

func (d dice) manifest() *manifest.Manifest {
	m := &manifest.Manifest{ABI: 1, Name: "x", Version: "1.0.0", Operations: map[abi.Operation]manifest.OperationSpec{}}
	for _, op := range append(d.some("retrieve", "process"), "rerank") {
		s := manifest.OperationSpec{Reads: d.some(diceReads[op]...), MaxPriority: d.IntN(3) * 5}
		s.Defaults = manifest.StepDefaults{TopK: d.IntN(3) * 8, Timeout: d.one("", "1s", "2s")}
		if s.Writes = nil; op == "process" && d.IntN(2) == 0 {
			s.Writes = append([]abi.Change{"priority"}, d.changes()...)
		} else if op != "process" {
			s.MaxPriority = 0
		}
		m.Operations[abi.Operation(op)] = s
	}
	for range d.IntN(4) {
		m.Permissions = append(m.Permissions, d.permission())
	}
	m.Limits = manifest.LimitRequest{Timeout: d.one("", "1s", "1000ms", "2s"), Memory: d.one("", "1MiB", "2MiB"), Output: d.one("", "1KiB", "9MiB"), InitTimeout: d.one("", "1s")}
	return m
}

func (d dice) changes() []abi.Change {
	var out []abi.Change
	for _, s := range d.some("keep", "text", "score") {
		out = append(out, abi.Change(s))
	}
	return out
}

// vary makes m ask for less here and there, or for something else.
func (d dice) vary(m *manifest.Manifest) *manifest.Manifest {
	other := d.manifest()
	out := *m
	if d.IntN(3) == 0 {
		out.Limits = other.Limits
	}
	out.Operations = map[abi.Operation]manifest.OperationSpec{}
	for op, s := range m.Operations {
		if o, ok := other.Operations[op]; ok && d.IntN(2) == 0 {
			s = o
		}
		out.Operations[op] = s
	}
	out.Permissions = slices.Clone(m.Permissions)
	for i, p := range other.Permissions {
		switch d.IntN(3) {
		case 0:
			out.Permissions = append(out.Permissions, p)
		case 1:
			if i < len(out.Permissions) {
				out.Permissions[i] = p
			}
		}
	}
	return &out
}

// exportsAll is a module that exports the operations of dice: functions () -> i32 and the marker
// () -> (), and a memory.
func exportsAll() []byte {
	section := func(id byte, content ...byte) []byte { return append([]byte{id, byte(len(content))}, content...) }
	exports := []byte{5}
	for i, name := range []string{abi.Marker, "anchor_retrieve", "anchor_process", "anchor_rerank", "memory"} {
		kind, index := byte(0), byte(i)
		if name == "memory" {
			kind, index = 2, 0
		}
		exports = append(append(append(exports, byte(len(name))), name...), kind, index)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, 2, 0x60, 0, 0, 0x60, 0, 1, 0x7f), section(3, 4, 0, 1, 1, 1), section(5, 1, 0, 1), section(7, exports...),
		section(10, 4, 2, 0, 0x0b, 4, 0, 0x41, 0, 0x0b, 4, 0, 0x41, 0, 0x0b, 4, 0, 0x41, 0, 0x0b))
}

// narrowed is the manifest that applies with side beside a module that holds own, nil if side is
// refused.
func narrowed(t *testing.T, own, side *manifest.Manifest) *manifest.Manifest {
	t.Helper()
	ownText, err := json.Marshal(own)
	sideText, serr := json.Marshal(side)
	if err != nil || serr != nil {
		t.Fatal(err, serr)
	}
	wasm, err := wasmbin.AppendCustom(exportsAll(), abi.ManifestSection, ownText)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Read("x", wasm, nil); err != nil {
		t.Fatal(err)
	}
	s, err := spec.Read("x", wasm, sideText)
	if err != nil {
		return nil
	}
	return s.Manifest
}

// What a plugin may do under any plugin.yaml that is accepted is a part of what it may do
// under the manifest in its module, whatever the operator grants.
func TestNarrowIsPart(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	accepted, rolls := 0, 800
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		rolls = 5_000
	}
	for range rolls {
		own := d.manifest()
		side := d.vary(own)
		if own.Validate() != nil {
			continue
		}
		if side = narrowed(t, own, side); side == nil {
			continue
		}
		accepted++
		if why := d.wider(t, own, side); why != "" {
			t.Fatalf("own  %+v\nside %+v\n%s", own, side, why)
		}
	}
	if accepted < rolls/20 {
		t.Errorf("%d pairs were accepted", accepted)
	}
}

// wider says what the host would allow under side and not under own.
func (d dice) wider(t *testing.T, own, side *manifest.Manifest) string {
	t.Helper()
	g := Grants{HTTP: &HTTPGrant{Hosts: diceHosts, Methods: []string{"GET", "HEAD", "POST"}}, KV: &KVGrant{Quota: 10 << 20},
		Files: []FileGrant{{Host: "h", Guest: "/a", Mode: ModeRW}, {Host: "h", Guest: "/b"}}, Services: []string{manifest.ServiceCountTokens}}
	o, _, err := intersect(own, g)
	s, _, serr := intersect(side, g)
	if err != nil || serr != nil {
		t.Fatal(err, serr)
	}
	for _, server := range strings.Fields("https://a.test https://a.test:8443 https://a.test:1 http://a.test http://a.test:1 https://b.test https://b.test:8443 https://c.a.test https://10.0.0.1 http://10.0.0.1:1 https://[::1]:8443") {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if s.http != nil && s.http.Check(method, u) == nil && (o.http == nil || o.http.Check(method, u) != nil) {
				return method + " " + server
			}
		}
	}
	mode := func(files []FileGrant, guest string) int {
		i := slices.IndexFunc(files, func(f FileGrant) bool { return f.Guest == guest })
		switch {
		case i < 0:
			return 0
		case files[i].Mode == ModeRW:
			return 2
		}
		return 1
	}
	for _, guest := range []string{"/a", "/b"} {
		if mode(s.files, guest) > mode(o.files, guest) {
			return "files " + guest
		}
	}
	if s.kvQuota > o.kvQuota || len(s.services) > 0 && len(o.services) == 0 {
		return "kv or services"
	}
	return widerCalls(t, own, side)
}

func widerCalls(t *testing.T, own, side *manifest.Manifest) string {
	t.Helper()
	for _, defaults := range []Limits{builtinLimits(), {Timeout: 1, InitTimeout: 1, Memory: 2 << 20, Output: 1, Instances: 1}} {
		lo, _, err := effectiveLimits(Limits{}, defaults, 1, own)
		ls, _, serr := effectiveLimits(Limits{}, defaults, 1, side)
		if err != nil || serr != nil {
			t.Fatal(err, serr)
		}
		if ls.Timeout > lo.Timeout || ls.InitTimeout > lo.InitTimeout || ls.Memory > lo.Memory || ls.Output > lo.Output {
			return fmt.Sprintf("limits %+v, own %+v", ls, lo)
		}
	}
	most := func(n int) int { return cmp.Or(n, abi.MaxPriority) }
	for op, s := range side.Operations {
		o, ok := own.Operations[op]
		if !ok || side.Reads(op)&^own.Reads(op) != 0 || side.Writes(op)&^own.Writes(op) != 0 || most(s.MaxPriority) > most(o.MaxPriority) ||
			cmp.Or(s.Defaults.TopK, DefaultTopK) > cmp.Or(o.Defaults.TopK, DefaultTopK) {
			return "operation " + string(op)
		}
		for _, part := range abi.Parts {
			if side.Parts(op).Has(part) && !own.Parts(op).Has(part) {
				return string(op) + " reads " + string(part)
			}
		}
	}
	return ""
}
