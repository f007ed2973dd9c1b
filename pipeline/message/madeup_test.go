package message

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
)

// madeUp calls f with made-up bodies of all forms: every kind of part, and JSON in every spelling.
func madeUp(t *testing.T, simple bool, f func(t *testing.T, b *Body, doc []byte)) {
	seeds := uint64(15)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		for _, form := range msgtest.Forms {
			doc := msgtest.Body(msgtest.Options{Form: form, Seed: seed, Messages: 12, Loop: seed%2 == 0, Simple: simple})
			b := decoded(t, doc, FormAny)
			if string(b.Form) != form {
				t.Errorf("seed %d, form %s: is %s", seed, form, b.Form)
			}
			if f(t, b, doc); t.Failed() {
				t.Fatalf("seed %d, form %s", seed, form)
			}
		}
	}
}

// TestMadeUpBodies writes each body unchanged and with each change of each part.
func TestMadeUpBodies(t *testing.T) {
	madeUp(t, false, func(t *testing.T, b *Body, doc []byte) {
		out, err := b.Append(nil, CloneList(b.Messages))
		if err != nil || !bytes.Equal(out, doc) {
			t.Errorf("%s\nbecame %s, %v", doc, out, err)
		}
		if err := Check(b.Messages, b.Form); err != nil {
			t.Error(err)
		}
		for i := range b.Messages {
			if form := b.Messages[i].Form(); form != FormAny && form != b.Form {
				t.Errorf("%s is of the form %s", b.Messages[i].Raw(), form)
			}
			for j := range b.Messages[i].Parts {
				checkChanges(t, b, i, j)
			}
		}
	})
}

// TestMadeUpBodiesConvert converts each body to each form. What is left out has a line, and what
// is left is accepted.
func TestMadeUpBodiesConvert(t *testing.T) {
	madeUp(t, false, func(t *testing.T, b *Body, doc []byte) {
		for _, to := range Forms {
			converted, lines, err := b.Lossy(to)
			if err != nil {
				t.Errorf("to %s: %v", to, err)
				continue
			}
			if err := Check(converted.Messages, to); err != nil {
				t.Errorf("to %s: %v", to, err)
			}
			_, err = b.Convert(to)
			if (err == nil) != (len(lines) == 0) || err != nil && !strings.HasPrefix(err.Error(), "body: "+lines[0]) {
				t.Errorf("to %s: %v\nleft out: %q", to, err, lines)
			}
		}
	})
}

// TestSimpleBodiesConvertBack converts the messages of each body there and back, if that is
// possible.
func TestSimpleBodiesConvertBack(t *testing.T) {
	done := 0
	madeUp(t, true, func(t *testing.T, b *Body, _ []byte) {
		for _, to := range Forms {
			there, err := Convert(b.Messages, to)
			if err != nil {
				continue
			}
			done++
			back, err := Convert(there, b.Form)
			got, want := said(back), said(b.Messages)
			if b.Form == FormGemini { // calls without an id get one
				got, want = withoutIDs(back), withoutIDs(b.Messages)
			}
			if err != nil || got != want {
				t.Errorf("to %s: %v: %s", to, err, diff(got, want))
			}
		}
	})
	if done < 20 {
		t.Errorf("only %d conversions were possible", done)
	}
}

func withoutIDs(list []Message) string {
	list = CloneList(list)
	for i := range list {
		for j := range list[i].Parts {
			list[i].Parts[j].ID = ""
		}
	}
	return said(list)
}

// What a client of OpenAI's chat echoes has members without a value. No other API takes them.
func TestEchoedMembersStayOutOfOtherForms(t *testing.T) {
	for _, m := range []string{
		`{"role":"assistant","content":"yo","refusal":null}`, `{"role":"assistant","content":"yo","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null}`,
		`{"role":"assistant","content":"yo","tool_calls":null}`, `{"role":"assistant","content":[{"type":"text","text":"yo"}],"refusal":null}`, `{"role":"user","content":"yo","name":null}`,
	} {
		for _, to := range []Form{FormAnthropic, FormResponses, FormGemini} {
			body, err := DecodeBody([]byte(`{"messages":[{"role":"user","content":"hi"},`+m+`]}`), FormAny)
			if err != nil {
				t.Fatal(err)
			}
			out, err := body.Convert(to)
			if err != nil {
				t.Errorf("%s to %s: %v", m, to, err)
				continue
			}
			data, err := out.Append(nil, out.Messages)
			if err != nil || strings.Contains(string(data), "null") || strings.Contains(string(data), "annotations") || !strings.Contains(string(data), `yo`) {
				t.Errorf("%s to %s: %s, %v", m, to, data, err)
			}
			list, err := DecodeList([]byte("[" + m + "]"))
			if err != nil {
				t.Fatal(err)
			}
			data, err = AppendList(nil, list, to) // as a build writes a turn
			if err != nil || strings.Contains(string(data), "null") || strings.Contains(string(data), "annotations") {
				t.Errorf("%s alone to %s: %s, %v", m, to, data, err)
			}
		}
	}
}
