package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// sealed is the value of all members that only the API may read.
const sealed = "SEALED"

// roles are the values of the members named role, by the type that has them. Roles of other types
// are constants.
var roles = map[string][]string{
	"MessageParam":                  {"user", "assistant", "system"},
	"BetaMessageParam":              {"user", "assistant", "system"},
	"EasyInputMessageParam":         {"user", "assistant", "system", "developer"},
	"ResponseInputItemMessageParam": {"user", "system", "developer"},
}

// maker builds values of the SDKs' types by reflection.
type maker struct {
	open   map[reflect.Type]int // types that are being built
	sealed bool                 // within a type that only the API may read
}

// values returns values of a type. Together they have each member, and each variant of each
// union. The first has all members.
func (m *maker) values(t reflect.Type, name string) []reflect.Value {
	switch t.Kind() {
	case reflect.Pointer:
		var out []reflect.Value
		for _, v := range m.values(t.Elem(), name) {
			p := reflect.New(t.Elem())
			p.Elem().Set(v)
			out = append(out, p)
		}
		return out
	case reflect.Slice:
		var out []reflect.Value
		for _, v := range m.values(t.Elem(), name) {
			out = append(out, reflect.Append(reflect.MakeSlice(t, 0, 1), v))
		}
		return out
	case reflect.Struct:
		return m.structs(t)
	}
	return []reflect.Value{m.simple(t, name)}
}

// simple returns a value of a type without members.
func (m *maker) simple(t reflect.Type, name string) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		if strings.HasSuffix(t.PkgPath(), "/constant") {
			return v // its zero value is written as the constant
		}
		text := "x"
		if m.sealed || name == "Signature" || strings.HasPrefix(name, "Encrypted") {
			text = sealed
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			v.Set(reflect.ValueOf(map[string]any{"a": 1}))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("k").Convert(t.Key()), m.values(t.Elem(), name)[0])
	}
	return v
}

// structs returns values of a struct: for a union one of each variant, for any other one with all
// members, one with those that the API demands, and one for each further value of each member.
func (m *maker) structs(t reflect.Type) []reflect.Value {
	if t == reflect.TypeFor[time.Time]() {
		return []reflect.Value{reflect.ValueOf(time.Unix(1, 0))}
	}
	if m.open[t] > 0 {
		return nil // a type within itself
	}
	m.open[t]++
	before := m.sealed
	for _, of := range []string{"Reasoning", "Thinking", "Compaction"} {
		m.sealed = m.sealed || strings.Contains(t.Name(), of) && !strings.Contains(t.Name(), "Config")
	}
	defer func() { m.open[t]--; m.sealed = before }()
	all, least := reflect.New(t).Elem(), reflect.New(t).Elem()
	var union, more []reflect.Value
	var further []func(base reflect.Value)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Anonymous {
			continue
		}
		values := m.values(f.Type, f.Name)
		if of := roles[t.Name()]; f.Name == "Role" && of != nil {
			values = nil
			for _, role := range of {
				values = append(values, reflect.ValueOf(role).Convert(f.Type))
			}
		}
		for n, v := range values {
			switch {
			case strings.HasPrefix(f.Name, "Of"):
				u := reflect.New(t).Elem()
				u.Field(i).Set(v)
				union = append(union, u)
				continue
			case n > 0:
				further = append(further, func(base reflect.Value) { base.Field(i).Set(v) })
				continue
			case f.Tag.Get("api") == "required" || f.Name == "Input":
				least.Field(i).Set(v)
			}
			all.Field(i).Set(v)
		}
	}
	if union != nil {
		return union
	}
	for _, set := range further {
		v := reflect.New(t).Elem()
		v.Set(least)
		set(v)
		more = append(more, v)
	}
	return append([]reflect.Value{all, least}, more...)
}

// TestVariants reads each variant of each union in the requests that the SDKs can build. Each is
// written as it was, also when a text beside it changes. What only the API may read is in no text
// and in no other form.
func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		body  reflect.Type
		form  message.Form
		least int
	}{
		{"anthropic", reflect.TypeFor[anthropic.MessageNewParams](), message.FormAnthropic, 250},
		{"anthropic beta", reflect.TypeFor[anthropic.BetaMessageNewParams](), message.FormAnthropic, 450},
		{"chat", reflect.TypeFor[openai.ChatCompletionNewParams](), message.FormOpenAI, 55},
		{"responses", reflect.TypeFor[responses.ResponseNewParams](), message.FormResponses, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := maker{open: map[reflect.Type]int{}}
			values := m.values(c.body, "")
			seen := map[string]bool{}
			for _, v := range values {
				body, err := json.Marshal(v.Interface())
				if err != nil {
					t.Errorf("the SDK cannot write it: %v", err)
					continue
				}
				if !seen[string(body)] && string(body) != "{}" && !emptyMessage(body) {
					seen[string(body)] = true
					checkVariant(t, c.form, body)
				}
			}
			t.Logf("%d bodies", len(seen))
			if len(seen) < c.least {
				t.Errorf("only %d bodies, want %d", len(seen), c.least)
			}
		})
	}
}

// emptyMessage reports whether a union for the content is empty, which the API refuses.
func emptyMessage(body []byte) bool {
	return bytes.Contains(body, []byte(`[{"role":`)) && !bytes.Contains(body, []byte(`"content":`)) && !bytes.Contains(body, []byte(`_call`))
}

func checkVariant(t *testing.T, form message.Form, body []byte) {
	t.Helper()
	b, err := message.DecodeBody(body, form)
	if err != nil {
		t.Errorf("%s\n%v", body, err)
		return
	}
	if out, err := b.Append(nil, message.CloneList(b.Messages)); err != nil || !bytes.Equal(out, body) {
		t.Errorf("%s\nbecame %s, %v", body, out, err)
	}
	for i := range b.Messages {
		text := b.Messages[i].Text() + message.MediaText(b.Messages[i].Parts) + fmt.Sprint(fieldsOf(b.Messages[i].Parts))
		if strings.Contains(text, sealed) {
			t.Errorf("%s\nhas the text %s", b.Messages[i].Raw(), text)
		}
	}
	list := message.CloneList(b.Messages)
	for i := range list {
		for j := range list[i].Parts {
			if p := &list[i].Parts[j]; p.Kind == message.Text {
				p.Text = "changed"
			}
		}
	}
	out, err := b.Append(nil, list)
	if err != nil || bytes.Count(out, []byte(sealed)) != bytes.Count(body, []byte(sealed)) {
		t.Errorf("%s\nchanged is %s, %v", body, out, err)
	}
	for _, to := range message.Forms {
		if to == form {
			continue
		}
		other, _, err := b.Lossy(to)
		if err != nil { // such as for a result without its call
			if text := err.Error(); !strings.HasPrefix(text, "body: messages[0]") && !strings.HasPrefix(text, "body: input[0]") {
				t.Errorf("%s\nto %s: %v", body, to, err)
			}
			continue
		}
		out, err := other.Append(nil, other.Messages)
		if err != nil || bytes.Contains(out, []byte(sealed)) {
			t.Errorf("%s\nto %s is %s, %v", body, to, out, err)
		}
	}
}

// fieldsOf returns what the fields of parts say.
func fieldsOf(parts []message.Part) (out []string) {
	for i := range parts {
		p := &parts[i]
		out = append(out, p.Text, p.ID, p.Name, p.Arguments)
		if p.Media != nil {
			out = append(out, fmt.Sprint(*p.Media))
		}
		out = append(out, fieldsOf(p.Parts)...)
	}
	return out
}
