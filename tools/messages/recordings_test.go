package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/anchor-host/anchor-host/tools/messages/client"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
	"github.com/anchor-host/anchor-host/tools/messages/redact"
)

// TestRecordings checks the recordings in testdata/messages: the API takes them, they are small,
// and they are what the redaction leaves.
func TestRecordings(t *testing.T) {
	private := regexp.MustCompile(`/root\b|/tmp/|client[0-9]+|sk-[a-z]`)
	for _, c := range client.Clients {
		for _, name := range []string{"early", "last"} {
			body, err := os.ReadFile(filepath.Join("../../testdata/messages", c.Name+"-"+name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > 60<<10 {
				t.Errorf("%s %s: %d bytes", c.Name, name, len(body))
			}
			if err := judge.Accept(c.Form, body); err != nil {
				t.Errorf("%s %s: %v", c.Name, name, err)
			}
			again, err := redact.Body(body)
			if err != nil || !bytes.Equal(again, body) {
				t.Errorf("%s %s: the redaction changes it: %v", c.Name, name, err)
			}
			if m := private.Find(body); m != nil {
				t.Errorf("%s %s: it has %q", c.Name, name, m)
			}
		}
	}
}
