package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// damage changes one bit of the store where a text is.
func damage(t *testing.T, text string) {
	t.Helper()
	path := os.Getenv("ANCHOR_HOST_STORE_PATH")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte(text))
	if at < 0 {
		t.Fatalf("%q is not in the store", text)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// One damaged fact, the newest too, keeps nobody from the others.
func TestDamagedFact(t *testing.T) {
	for _, id := range []string{"f1", "f3"} {
		t.Run(id, func(t *testing.T) {
			storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nmemory: {facts: {}}\n"})
			for _, n := range []string{"1", "2", "3"} {
				must(t, "", "memory", "add", "--id", "f"+n, "train number-"+n)
			}
			damage(t, "number-"+id[1:])
			warned := func(args ...string) string {
				t.Helper()
				code, stdout, stderr := run(t, "", args...)
				if code != codeOK || strings.Count(stderr, `fact "`+id+`" is damaged and left out`) != 1 && args[0] == "memory" {
					t.Errorf("%v: code %d, %s", args, code, stderr)
				}
				return stdout
			}
			if out := warned("memory", "list"); !strings.Contains(out, "number-2") || strings.Contains(out, id+" ") {
				t.Errorf("list:\n%s", out)
			}
			if out := warned("memory", "search", "train"); !strings.Contains(out, "number-2") {
				t.Errorf("search:\n%s", out)
			}
			if out := must(t, "", "memory", "add", "--id", "f4", "train number-4"); !strings.Contains(out, "number-4") { // reads no other fact
				t.Errorf("add:\n%s", out)
			}
			warned("memory", "gc", "--dry-run")
			if code, out, stderr := run(t, "", "build", "train"); code != codeOK || !strings.Contains(out, "number-2") || !strings.Contains(stderr, "fact is damaged and left out") {
				t.Errorf("build: %d, %s\n%s", code, out, stderr)
			}
			code, _, stderr := run(t, "", "memory", "export")
			if code != codeFailure || !strings.Contains(stderr, `record "`+id+`" is not what was written`) || strings.Count(stderr, "store is corrupt") != 1 {
				t.Errorf("export: code %d, %s", code, stderr)
			}
			code, out, stderr := run(t, "", "memory", "export", "--skip-damaged")
			if code != codeOK || strings.Count(out, `"id":"f`) < 3 || strings.Contains(out, `"id":"`+id+`"`) || !strings.Contains(stderr, `left out: store is corrupt: record "`+id+`"`) {
				t.Errorf("export --skip-damaged: code %d, %s\n%s", code, out, stderr)
			}
			look := func() doctorLine {
				lines, _, _ := doctor(t)
				return lines["store"]
			}
			if f := look(); f.Status != "problem" || !strings.Contains(f.Detail, `anchor-host memory forget "`+id+`"`) {
				t.Errorf("doctor: %+v", f)
			}
			must(t, "", "memory", "forget", id)
			if f := look(); f.Status != "ok" {
				t.Errorf("doctor after the deletion: %+v", f)
			}
			if _, _, stderr := run(t, "", "memory", "list"); stderr != "" {
				t.Errorf("list after the deletion: %s", stderr)
			}
		})
	}
}
