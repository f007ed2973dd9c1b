package redact

import "testing"

func TestBody(t *testing.T) {
	rows := []struct{ name, in, out string }{
		{"plain", `{"model": "m",` + "\n" + ` "messages":[ {"role":"user","content":"one two three four five six seven"} ] }`, ""},
		{"prompts", `{"system":"one two three four five six","tools":[{"description":"a b c d e f g","x":1e2}]}`,
			`{"system":"one two three four five …","tools":[{"description":"a b c d e …","x":1e2}]}`},
		{"system messages", `{"input":[{"role":"developer","content":[{"text":"a b c d e f <g>"}]},{"role":"user","content":"a b c d e f <g>"}]}`,
			`{"input":[{"role":"developer","content":[{"text":"a b c d e …"}]},{"role":"user","content":"a b c d e f <g>"}]}`},
		{"reminders", `{"messages":[{"role":"user","content":[{"text":"<system-reminder>a b c d e f"},{"text":"a <system-reminder> c d e f g"}]}]}`,
			`{"messages":[{"role":"user","content":[{"text":"<system-reminder>a b c d e …"},{"text":"a <system-reminder> c d e f g"}]}]}`},
		{"names stay", `{"tools":{"one two three four five six":["a b c d e f",{"a b c d e f":"a b c d e f"}]}}`,
			`{"tools":{"one two three four five six":["a b c d e …",{"a b c d e f":"a b c d e …"}]}}`},
		{"ids", `{"a":"0a1b2c3d-0000-4111-8222-333344445555","b":["11111111-0000-4111-8222-333344445555","0a1b2c3d-0000-4111-8222-333344445555"]}`,
			`{"a":"00000000-0000-4000-8000-000000000001","b":["00000000-0000-4000-8000-000000000002","00000000-0000-4000-8000-000000000001"]}`},
		{"folders", `{"a":"in /var/tmp/client123/project/a.go and /var/tmp/client123/home/.x, 2031-12-24"}`,
			`{"a":"in /project/a.go and /home/user/.x, 2026-01-01"}`},
		{"one text", `{"input":"one two three four five six"}`, ""},
		{"no words", `{}`, ""},
	}
	for _, r := range rows {
		want := r.out
		if want == "" {
			want = r.in
		}
		got, err := Body([]byte(r.in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", r.name, err, got, want)
			continue
		}
		if again, err := Body(got); err != nil || string(again) != want {
			t.Errorf("%s, again: %v\n got %s\nwant %s", r.name, err, again, want)
		}
	}
	for _, bad := range []string{"", "[]", "{", `{"tools":[`, `{"messages":[{"role":1}]}`, `{"messages":[1]}`} {
		if got, err := Body([]byte(bad)); err == nil {
			t.Errorf("%q: redacted as %s", bad, got)
		}
	}
}
