package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// eachHistory calls f with generated histories and with the recordings of that form.
func eachHistory(t *testing.T, form message.Form, f func(t *testing.T, body []byte)) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		o := msgtest.Options{Form: string(form), Seed: seed, Messages: 2 + int(seed), Simple: seed%6 == 0, Loop: seed%5 == 2}
		t.Run(fmt.Sprintf("%s/%d", form, seed), func(t *testing.T) { f(t, msgtest.Body(o)) })
	}
	for name, of := range map[string]message.Form{"claude-code": message.FormAnthropic, "codex": message.FormResponses} {
		files, _ := filepath.Glob("../../testdata/messages/" + name + "-*.json")
		for _, file := range files {
			if of != form {
				continue
			}
			t.Run(filepath.Base(file), func(t *testing.T) {
				body, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				f(t, body)
			})
		}
	}
}

// TestCodecs reads each history with pipeline/message: it finds the form, has nothing against what
// the judge accepts, and writes every byte as it came.
func TestCodecs(t *testing.T) {
	for _, form := range message.Forms {
		eachHistory(t, form, func(t *testing.T, body []byte) {
			b, err := message.DecodeBody(body, message.FormAny)
			if err != nil {
				t.Fatal(err)
			}
			if b.Form != form {
				t.Errorf("read as %s", b.Form)
			}
			if err := message.Check(b.Messages, b.Form); err != nil {
				t.Errorf("Check refuses what the judge accepts: %v", err)
			}
			if out, err := b.Append(nil, b.Messages); err != nil || !bytes.Equal(out, body) {
				t.Errorf("written with other bytes, %v", err)
			}
		})
	}
}

// TestConversions writes each history in each other form, and judges it.
func TestConversions(t *testing.T) {
	for _, form := range message.Forms {
		eachHistory(t, form, func(t *testing.T, body []byte) {
			b, err := message.DecodeBody(body, form)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range message.Forms {
				c, _, err := b.Lossy(to)
				if err != nil {
					t.Errorf("to %s: %v", to, err)
					continue
				}
				out, err := c.Append(nil, c.Messages)
				if err != nil {
					t.Errorf("to %s: %v", to, err)
					continue
				}
				if err := judge.Accept(string(to), completed(t, to, out)); err != nil {
					t.Errorf("to %s: %v", to, err)
				}
			}
		})
	}
}

// completed adds what only the caller can know: the model, and how long its answer may be.
func completed(t *testing.T, form message.Form, body []byte) []byte {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	missing := ""
	if root["model"] == nil && form != message.FormGemini {
		missing += `"model":"m",`
	}
	if root["max_tokens"] == nil && form == message.FormAnthropic {
		missing += `"max_tokens":1024,`
	}
	return []byte(strings.Replace(string(body), "{", "{"+missing, 1))
}
