package spec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
)

// An embedded manifest makes a plugin of one file.
func TestEmbed(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	out, err := spec.Embed(wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	read, err := spec.Read("keep-first", out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if read.ManifestFrom != "module" || !read.Manifest.Reads(abi.OpFilter).Has(abi.ColumnScore) {
		t.Errorf("read back %+v", read.Manifest)
	}
	again, err := spec.Embed(out, manifest)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("embedding the same twice: %v", err)
	}
	_, err = spec.Embed(out, bytes.Replace(manifest, []byte("0.1.0"), []byte("0.2.0"), 1))
	if !errors.Is(err, spec.ErrManifest) || !strings.Contains(err.Error(), "another manifest") {
		t.Errorf("another manifest: %v", err)
	}
}

// Of two manifests nobody could say which one holds.
func TestTwoManifests(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	out, err := spec.Embed(wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, out[len(wasm):]...) // the same section again
	_, err = spec.Read("keep-first", out, nil)
	if !errors.Is(err, spec.ErrManifest) || !strings.Contains(err.Error(), `the module has 2 custom sections "anchor.manifest" (build it with one)`) {
		t.Errorf("error %v", err)
	}
}

func TestEmbedErrors(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	for _, c := range []struct {
		name           string
		wasm, manifest []byte
		is             error
		want           string
	}{
		{"no module", []byte("text"), manifest, spec.ErrNotWasm, "not a WebAssembly module"},
		{"no manifest", wasm, nil, spec.ErrManifest, "the file is empty"},
		{"unknown key", wasm, append([]byte("lisense: MIT\n"), manifest...), spec.ErrManifest, `unknown key`},
		{"schema", wasm, append([]byte("settings: {type: 7}\n"), manifest...), spec.ErrManifest, "settings schema: "},
		{"limits", wasm, append([]byte("limits: {memory: 1}\n"), manifest...), spec.ErrManifest, "limits.memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := spec.Embed(c.wasm, c.manifest)
			if out != nil || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes, %v; want %s", len(out), err, c.want)
			}
		})
	}
}

// What could be better is said once, with what to do about it.
func TestAdvice(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	with := func(keys string) []byte { return append([]byte(keys), manifest...) }
	const memory = "limits: {memory: 1MiB}\n"
	for _, c := range []struct {
		name     string
		manifest []byte
		want     []string
	}{
		{"as it is", manifest, []string{"filter has no batch lane", "the memory has no maximum"}},
		{"with a limit", with(memory), []string{"filter has no batch lane"}},
		{"a permission without use", with(memory + "permissions: [{kind: kv, reason: remembers}, {kind: http, hosts: [a.example], reason: asks}]\n"),
			[]string{"filter has no batch lane", "asks for http and imports none", "asks for kv and imports none"}},
	} {
		t.Run(c.name, func(t *testing.T) { checkAdvice(t, wasm, c.manifest, c.want) })
	}
	wasm, manifest = fixtureFiles(t, "http-ungranted")
	checkAdvice(t, wasm, append([]byte(memory), manifest...), []string{"filter has no batch lane", "imports extism:host/env.http_request and does not ask for http"})
	wasm, _ = fixtureFiles(t, "foreign")
	checkAdvice(t, wasm, nil, nil)
}

// An operation that receives its request whole is named until its manifest says what it reads.
func TestReadsAdvice(t *testing.T) {
	wasm, _ := fixtureFiles(t, "documents")
	const head = "abi: 1\nname: documents\nversion: 0.1.0\nlimits: {memory: 1MiB}\n"
	checkAdvice(t, wasm, []byte(head+"operations: {provide: {}, classify: {}, format: {}, compact: {reads: [content, summary]}}\n"), []string{
		"classify does not say what it reads and receives all of the query (state reads; the names are query_text,query_embedding,",
		"provide does not say what it reads and receives all of the request (state reads; the names are messages,state_messages,",
	})
	checkAdvice(t, wasm, []byte(head+"operations: {provide: {reads: [data]}, classify: {reads: [query_text]}, format: {}}\n"), nil)
}

func checkAdvice(t *testing.T, wasm, manifest []byte, want []string) {
	t.Helper()
	spec, err := spec.Read("", wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	got := spec.Advice()
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) || !strings.HasSuffix(got[i], ")") || strings.Contains(got[i], "\n") {
			t.Errorf("got %q, want %q and a remedy", got[i], want[i])
		}
	}
}
