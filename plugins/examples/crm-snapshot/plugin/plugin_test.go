package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func settings() *Settings {
	s := new(Settings)
	s.Defaults()
	return s
}

func TestURL(t *testing.T) {
	for _, c := range []struct {
		id   any
		want string
		err  string
	}{
		{id: "a-42", want: "https://crm.example.com/accounts/a-42"},
		{id: int64(42), want: "https://crm.example.com/accounts/42"},
		{id: "../admin?x=1#y/ü", want: "https://crm.example.com/accounts/..%2Fadmin%3Fx=1%23y%2F%C3%BC"},
		{id: nil},
		{id: ""},
		{id: "..", err: `data.account_id "..": not an id`},
		{id: 4.2, err: "data.account_id: a float64 (want a string or an integer)"},
		{id: []any{"a"}, err: "data.account_id: a []interface {} (want a string or an integer)"},
	} {
		got, err := settings().URL(abi.Metadata{"account_id": c.id})
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v: %q, %v", c.id, got, err)
		}
	}
	s := settings()
	s.BaseURL, s.Path, s.IDKey = "http://localhost:8080/crm/", "/v1/{id}/short/{id}", "customer"
	if got, err := s.URL(abi.Metadata{"customer": "c"}); got != "http://localhost:8080/crm/v1/c/short/c" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRecord(t *testing.T) {
	for _, c := range []struct {
		status    int
		body      string
		want, err string
	}{
		{200, " {\n \"name\": \"Ann\",\n \"plan\": 1 }\n", `{"name":"Ann","plan":1}`, ""},
		{200, "null", "", ""},
		{200, " ", "", ""},
		{204, "", "", ""},
		{404, "no such account", "", ""},
		{410, "{}", "", ""},
		{500, "{}", "", "status 500 (want 200, or 404 for no such account)"},
		{302, "{}", "", "status 302 (want 200, or 404 for no such account)"},
		{200, "<html>", "", "answer is not a JSON object"},
		{200, `{"name":`, "", "answer: unexpected end of JSON input"},
		{200, `{"text":"` + strings.Repeat("x", 8192) + `"}`, "", "record of 8203 bytes, allowed 8192 (raise max_bytes)"},
	} {
		got, err := settings().Record(c.status, []byte(c.body))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%d %.20q: %q, %v", c.status, c.body, got, err)
		}
	}
}

func TestInsert(t *testing.T) {
	message := func(role, name string) abi.Message { return abi.Message{Role: role, Name: name, Content: role} }
	for _, c := range []struct {
		given []abi.Message
		want  string
	}{
		{nil, "SNAP"},
		{[]abi.Message{message("user", "")}, "SNAP user"},
		{[]abi.Message{message("system", ""), message("user", "")}, "system SNAP user"},
		{[]abi.Message{message("system", ""), message("system", ""), message("user", "")}, "system SNAP system user"},
		{[]abi.Message{message("user", ""), message("system", MessageName), message("user", MessageName)}, "SNAP user user"},
		{[]abi.Message{message("system", MessageName), message("user", "")}, "SNAP user"},
	} {
		before := slices.Clone(c.given)
		var texts []string
		for _, m := range Insert(c.given, "SNAP") {
			texts = append(texts, m.Content)
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.given, got, c.want)
		}
		for i := range before {
			if c.given[i].Role != before[i].Role || c.given[i].Content != before[i].Content {
				t.Errorf("the list given has changed: %v", c.given)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	if err := settings().Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		`base_url "crm.example.com": not an address (want one such as https://crm.example.com)`: func(s *Settings) { s.BaseURL = "crm.example.com" },
		`base_url "file:///etc": not an address (want one such as https://crm.example.com)`:     func(s *Settings) { s.BaseURL = "file:///etc" },
		`path "/accounts": not the path of a record (want one such as /accounts/{id})`:          func(s *Settings) { s.Path = "/accounts" },
		`path "{id}": not the path of a record (want one such as /accounts/{id})`:               func(s *Settings) { s.Path = "{id}" },
		"id_key: empty":                func(s *Settings) { s.IDKey = "" },
		"max_bytes 0: below 1":         func(s *Settings) { s.MaxBytes = 0 },
		"estimated_tokens -1: below 0": func(s *Settings) { s.EstimatedTokens = -1 },
	} {
		s := settings()
		change(s)
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
