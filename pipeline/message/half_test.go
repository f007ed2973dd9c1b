package message

import (
	"errors"
	"strings"
	"testing"
)

// Half of a character is found wherever it stands, and nothing else is taken for one.
func TestHalfCharacter(t *testing.T) {
	for text, want := range map[string]string{
		`hello`: "", `\ud83d\ude00`: "", `\uD83D\uDE00 \u00e9`: "", `\\ud83d`: "", `\\\\ude00`: "", `\n\ud83d\ude00\n`: "",
		`\ud83d`: `\ud83d`, `a\ud83d b`: `\ud83d`, `\ude00`: `\ude00`, `\ud83d\ud83d\ude00`: `\ud83d`, `\ud83d\n`: `\ud83d`, `\\\ud83d\\ude00`: `\ud83d`,
		`\ud83d\ude00\ude00`: `\ude00`,
	} {
		for _, list := range []string{
			`[{"role":"user","content":"a"},{"role":"user","content":"` + text + `"}]`,
			`[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"` + text + `"}]}]`,
		} {
			messages, err := DecodeList([]byte(list))
			if err != nil {
				t.Fatal(err)
			}
			err = HalfCharacter(messages)
			if want == "" && err != nil || want != "" && (!errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "messages[1]: "+want+" is half of a character")) {
				t.Errorf("%s: %v", text, err)
			}
			if (Check(messages, FormOpenAI) != nil) != (want != "") {
				t.Errorf("%s: Check differs", text)
			}
		}
	}
}

func FuzzHalfCharacter(f *testing.F) {
	for _, s := range []string{``, `\`, `\u`, `\ud83d`, `\ud83d\`, `\ud83d\u`, `\ud83d\ude00`, `"\\ud83d"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if half := lone(s); half != "" && !strings.Contains(s, half) {
			t.Errorf("%q is not in %q", half, s)
		}
	})
}

// A text of the assistant is what the types of the Responses API take: an easy message, or with
// several parts an output with its id.
func TestAssistantInResponses(t *testing.T) {
	list, err := DecodeList([]byte(`[{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
		`{"role":"user","content":"q"}, {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	data, err := AppendList(nil, list, FormResponses)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.Contains(text, `{"type":"message","role":"assistant","content":"a"}`) || strings.Count(text, `"status":"completed"`) != 2 || strings.Count(text, `"annotations":[]`) != 4 {
		t.Errorf("%s", text)
	}
	ids := map[string]bool{}
	for _, rest := range strings.Split(text, `"id":"`)[1:] {
		id, _, _ := strings.Cut(rest, `"`)
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("ids %v: want two that differ", ids)
	}
	back, err := DecodeList(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := AppendList(nil, back, FormAnthropic); err != nil || strings.Contains(string(again), "msg_") {
		t.Errorf("%v: %s", err, again)
	}
}
