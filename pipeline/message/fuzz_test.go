package message

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// seeds are lists of each form.
var seeds = []string{
	`[{"role":"developer","refusal":""}]`,
	`[{"role":"user","name":"n","content":[{"type":"input_text","text":"t","x":"y"}]}]`,
	`[{"role":"user","content":"a\ud800"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"i","name":"n","input":{}}]}, {"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"r"}],"is_error":true},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"d"}]},"title":"t"}]}]`,
	`[{"role":"developer","content":"d","name":"n"},{"role":"assistant","content":null,"refusal":"no","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"}]},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk=","detail":"low"}},{"type":"file","file":{"file_id":"f"}},{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}]}]`,
	`[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"},{"type":"input_image","image_url":"https://x/y"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"},{"type":"shell_call","call_id":"s","action":{"a":1}},{"type":"computer_call_output","call_id":"s","output":{"type":"screenshot"}},{"type":"reasoning","summary":[]}]`,
	`[{"parts":[{"text":"t","thoughtSignature":"s"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},{"functionResponse":{"name":"f","response":{"a":1}}},{"function_response":{"name":"f","response":{"error":""}}}]}]`,
}

// FuzzDecodeList reads lists. What is valid is written as it came, a changed text is the only
// thing that differs, and no conversion panics or writes what cannot be read.
func FuzzDecodeList(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, pick uint8) {
		list, err := DecodeList(data)
		if err != nil {
			return
		}
		b, err := DecodeBody(data, FormAny)
		if err != nil {
			t.Fatalf("a list that is no body: %v", err)
		}
		checkBody(t, b, data, pick)
		for i := range list {
			raw, err := list[i].Append(nil, FormAny)
			if err != nil || string(raw) != list[i].Raw() {
				t.Fatalf("%s became %s, %v", list[i].Raw(), raw, err)
			}
		}
		_ = Check(list, FormAny)
		for _, form := range Forms {
			checkConversion(t, list, form)
		}
	})
}

// checkConversion converts messages, and reads what is written.
func checkConversion(t *testing.T, list []Message, form Form) {
	t.Helper()
	if out, _, err := Lossy(list, form); err == nil {
		data, err := AppendList(nil, out, form)
		if err != nil {
			t.Fatalf("%s: converted messages cannot be written: %v", form, err)
		}
		if _, err := DecodeList(data); err != nil {
			t.Fatalf("%s cannot be read: %v", data, err)
		}
	}
	data, err := AppendList(nil, list, form)
	if err != nil {
		return
	}
	if _, err := DecodeList(data); err != nil {
		t.Fatalf("%s cannot be read: %v", data, err)
	}
}

// FuzzBody reads documents, as FuzzDecodeList does lists.
func FuzzBody(f *testing.F) {
	for i := range bodies {
		f.Add([]byte(bodies[i].doc), uint8(i), uint8(i%5))
	}
	f.Fuzz(func(t *testing.T, data []byte, pick, form uint8) {
		b, err := DecodeBody(data, append(Forms, FormAny)[int(form)%5])
		if err != nil {
			return
		}
		checkBody(t, b, data, pick)
		list := slices.Insert(CloneList(b.Messages), int(pick)%(len(b.Messages)+1), New(RoleSystem, "new"))
		if out, err := b.Append(nil, list); err == nil {
			if _, err := DecodeBody(out, b.Form); err != nil {
				t.Fatalf("%s with an instruction is %s: %v", data, out, err)
			}
		}
		for _, to := range Forms {
			_, _, _ = b.Lossy(to)
		}
	})
}

// checkBody writes a body unchanged, and with one other text.
func checkBody(t *testing.T, b *Body, data []byte, pick uint8) {
	t.Helper()
	out, err := b.Append(nil, CloneList(b.Messages))
	if err != nil || !bytes.Equal(out, data) {
		t.Fatalf("%s\nbecame %s, %v", data, out, err)
	}
	if len(b.Messages) == 0 {
		return
	}
	list := CloneList(b.Messages)
	p := firstText(list[int(pick)%len(list)].Parts)
	if p == nil || p.raw == "" {
		return
	}
	old, fits := p.raw, (&writer{form: b.Form, own: true}).fits(p)
	p.Text = "changed"
	if out, err = b.Append(nil, list); err != nil {
		if !fits && errors.Is(err, ErrLoss) {
			return // the form has no place for a member of a part of another API
		}
		if Check(b.Messages, b.Form) != nil {
			return // parts of several APIs in one message, which none accepts
		}
		t.Fatalf("%s: a text cannot change: %v", data, err)
	}
	before, after := common(data, out)
	if cut := string(data[before : len(data)-after]); len(cut) > len(old) && !strings.Contains(old, cut) {
		t.Fatalf("a change of %s in\n%s\nreplaced %s:\n%s", old, data, cut, out)
	}
}
