package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
)

func call(answer string) record.Call {
	return record.Call{Plugin: "p/../*", Operation: "filter", Request: []byte(`{"items":[],"settings":{"n":12345678901234567890}}`), Answer: []byte(answer)}
}

func files(t *testing.T, dir string) (size int64, names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size, names = size+info.Size(), append(names, f.Name())
	}
	return size, names
}

// Calls at the same time, of two recorders, each get a file of their own, which is a case.
func TestConcurrentCalls(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 2 {
		r, err := New(dir, DefaultMaxBytes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			all.Go(func() { r.Add(call(fmt.Sprintf(`{"keep":[%d]}`, i))) })
		}
	}
	all.Wait()
	_, names := files(t, dir)
	seen := map[string]int{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		cases, err := conformance.ParseOwnCases(name, b)
		if err != nil || cases[0].Name+".json" != name || fmt.Sprint(cases[0].Settings["n"]) != "12345678901234567890" {
			t.Fatalf("%v: %+v", err, cases)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, cases[0].Expect.Output); err != nil {
			t.Fatal(err)
		}
		seen[compact.String()]++
	}
	if len(names) != 100 || len(seen) != 50 || seen[`{"keep":[7]}`] != 2 {
		t.Errorf("%d files, %d answers", len(names), len(seen))
	}
}

// A plugin cannot fill the disk, and the recorder says what it left out.
func TestRecordingsAreBounded(t *testing.T) {
	dir := t.TempDir()
	r, err := New(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	large := call(`{}`)
	large.HTTP = []record.HTTP{{URL: "u", Status: 200, ResponseBody: bytes.Repeat([]byte("x"), 200<<10)}}
	for range 100 {
		r.Add(large)
	}
	tooLarge := call(`{}`)
	tooLarge.Log = []string{strings.Repeat("x", MaxFile)}
	r.Add(tooLarge)
	beyond := call(`{}`)
	beyond.LeftOut = 7
	r.Add(beyond)
	if size, names := files(t, dir); size > 1<<20 || len(names) != 5 {
		t.Errorf("%d files with %d bytes", len(names), size)
	}
	if s := r.Summary(); !strings.Contains(s, "recorded 5 calls") || !strings.Contains(s, "left out: 97 calls, ") || !strings.Contains(s, "no more room") {
		t.Error(s)
	}
}

// What cannot be a case is not one: init, an export, a call without a document.
func TestOtherCalls(t *testing.T) {
	dir := t.TempDir()
	r, err := New(dir, DefaultMaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	r.Add(record.Call{Plugin: "p", Operation: "init", Request: []byte(`{}`)})
	r.Add(record.Call{Plugin: "p", Operation: "greet", Request: []byte(`hello`)})
	r.Add(record.Call{Plugin: "p", Operation: "filter", NoChange: true})
	r.Add(record.Call{Plugin: "p", Operation: "filter", Request: []byte(`{}`)})
	if _, names := files(t, dir); len(names) != 0 || !strings.Contains(r.Summary(), "left out: 2 calls") {
		t.Error(names, r.Summary())
	}
	if _, err := New(filepath.Join(os.DevNull, "x"), 1); err == nil {
		t.Error("no folder")
	}
}

// A case has the store as it was before and after, texts as texts, and other bytes in base64.
func TestCasesOfCalls(t *testing.T) {
	c := call(`{"keep":[0]}`)
	c.KV = []record.KV{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2"), Set: true}, {Key: "a", Value: []byte("2")},
		{Key: "b", Set: true}, {Key: "new", Value: []byte{0xff}, Set: true}, {Key: "new", Value: []byte{0xff}}, {Key: "none"}}
	c.HTTP = []record.HTTP{
		{URL: "u", Body: []byte(`{"b":1,"a":"<"}`), Status: 200, ResponseBody: []byte{0xfe}, ResponseHeaders: map[string]string{"date": "d", "content-type": "t"}},
		{URL: "u", Body: []byte(`{ "b": 1 }`), Failure: "dns"}, {URL: "u", Body: []byte(`"text"`), Status: 200},
	}
	own, err := Case("n", c)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Encode(own)
	if err != nil {
		t.Fatal(err)
	}
	back, err := conformance.ParseCase("f", doc)
	if err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	if got, want := fmt.Sprint(back.KV, back.Expect.Stored), "[{a 1 }] [{a 2 } {b  } {new  /w==}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h := back.HTTP
	if string(h[0].Response.Bytes()) != "\xfe" || len(h[0].Response.Headers) != 1 || h[1].Response.Error != "dns" || string(h[1].Request.Body) != `"{ \"b\": 1 }"` || string(h[2].Request.Body) != `"\"text\""` {
		t.Errorf("%s", doc)
	}
	c.Err, c.KV = "trap: first line\nsecond", nil
	if own, err = Case("n", c); err != nil || own.Expect.Error != "trap: first line" || own.KV != nil || own.Expect.Output != nil {
		t.Errorf("%v: %+v", err, own)
	}
}

// FuzzCases holds the recorder to its promise: whatever a plugin answers, what is written is a
// case, or nothing is.
func FuzzCases(f *testing.F) {
	f.Add([]byte(`{"items":[{"content":"a"}],"settings":{"a":1}}`), []byte(`{"keep":[0]}`), "https://a.test/?q=1", []byte(`{"a":"b"}`), "info: line")
	f.Add([]byte("{}"), []byte("{}"), "u", []byte("0"), "a control character: \u0089")
	f.Fuzz(func(t *testing.T, request, answer []byte, url string, body []byte, line string) {
		c := record.Call{Plugin: url, Operation: "filter", Request: request, Answer: answer, Err: "", Log: []string{line},
			HTTP: []record.HTTP{{URL: url, Body: body, Status: 200, ResponseBody: body}}, KV: []record.KV{{Key: line, Value: body, Set: true}}}
		own, err := Case(caseName("n", line), c)
		if err != nil {
			return
		}
		doc, err := Encode(own)
		if err != nil {
			return
		}
		back, err := conformance.ParseCase("f", doc)
		if err != nil {
			if url == "" || line == "" {
				return // a host sends no such request, and stores nothing without a key
			}
			t.Fatalf("%v: %s", err, doc)
		}
		if got := back.HTTP[0].Response.Bytes(); !bytes.Equal(got, body) {
			t.Errorf("body %q became %q", body, got)
		}
	})
}
