package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func TestMessageUnits(t *testing.T) {
	user, system, answer := pipeline.Message{Role: pipeline.RoleUser}, pipeline.Message{Role: pipeline.RoleSystem}, pipeline.Message{Role: pipeline.RoleAssistant}
	call := func(raw string) pipeline.Message {
		return fromJSON(pipeline.RoleAssistant, `"tool_calls":`+raw)
	}
	result := func(id string) pipeline.Message { return message.NewResult(id, "", "") }
	use := func(id string) pipeline.Message {
		return fromJSON(pipeline.RoleAssistant, `"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"`+id+`","name":"f","input":{}}]`)
	}
	answers := func(id string) pipeline.Message {
		return fromJSON(pipeline.RoleUser, `"content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"x"},{"type":"text","text":"go on"}]`)
	}
	both := func(a, b string) pipeline.Message {
		return fromJSON(pipeline.RoleUser, `"content":[{"type":"tool_result","tool_use_id":"`+a+`"},{"type":"tool_result","tool_use_id":"`+b+`"}]`)
	}
	for name, c := range map[string]struct {
		messages []pipeline.Message
		want     []int
	}{
		"parts":           {[]pipeline.Message{user, use("a"), answers("a"), use("b"), answers("b"), answers("c")}, []int{0, 1, 1, 3, 3, 5}},
		"several calls":   {[]pipeline.Message{use("a"), use("b"), user, use("c"), answers("b"), both("c", "a"), both("c", "b")}, []int{0, 0, 2, 0, 0, 0, 0}},
		"two of three":    {[]pipeline.Message{use("a"), use("b"), use("c"), both("c", "b"), answers("a")}, []int{0, 1, 1, 1, 0}},
		"none":            {nil, []int{}},
		"single":          {[]pipeline.Message{system, user, answer}, []int{0, 1, 2}},
		"pair":            {[]pipeline.Message{user, call(`[{"id":"a"}]`), result("a"), answer}, []int{0, 1, 1, 3}},
		"two results":     {[]pipeline.Message{call(`[{"id":"a"},{"id":"b"}]`), result("b"), result("a")}, []int{0, 0, 0}},
		"apart":           {[]pipeline.Message{call(`[{"id":"a"}]`), user, answer, result("a")}, []int{0, 1, 2, 0}},
		"interleaved":     {[]pipeline.Message{call(`[{"id":"a"}]`), call(`[{"id":"b"}]`), result("a"), result("b")}, []int{0, 1, 0, 1}},
		"id used again":   {[]pipeline.Message{call(`[{"id":"a"}]`), result("a"), call(`[{"id":"a"}]`), result("a")}, []int{0, 0, 2, 2}},
		"without a call":  {[]pipeline.Message{result("a"), call(`[{"id":"b"}]`), result("a")}, []int{0, 1, 2}},
		"before its call": {[]pipeline.Message{result("a"), call(`[{"id":"a"}]`)}, []int{0, 1}},
		"no id":           {[]pipeline.Message{result(""), call(`[{"id":"a"}]`), result(""), system, result(""), user, result("")}, []int{0, 1, 1, 3, 1, 5, 6}},
		"unreadable ids":  {[]pipeline.Message{call(`[{"function":{"name":"f"}}]`), result("a"), answer, result("a")}, []int{0, 0, 2, 3}},
		"without ids": {read(`{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"g","response":{}}}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`,
			`{"role":"model","parts":[{"functionCall":{"name":"f"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`), []int{0, 0, 0, 3, 3}},
		"reasoning": {read(reasoning, asks("a"), asks("b"), returns("a"), returns("b"), reasoning, `{"type":"message","role":"assistant","content":[]}`, asks("c"), returns("c"), reasoning),
			[]int{0, 0, 0, 0, 0, 5, 5, 5, 5, 9}},
		"reasoning twice":    {read(reasoning, reasoning, asks("a"), returns("a"), asks("b"), returns("b")), []int{0, 0, 0, 0, 4, 4}},
		"items side by side": {read(asks("a"), asks("b"), returns("b"), returns("a")), []int{0, 0, 0, 0}},
		"server tools": {read(`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]}]}`,
			`{"role":"user","content":"so?"}`), []int{0, 1}},
		"system within a list": {within(t, `{"type":"tool_use","id":"a","name":"f","input":{}}`, `{"type":"tool_result","tool_use_id":"a"}`), []int{0, 0, 2, 2, 2, 5}},
		"system of chat":       {within(t, `{"type":"image_url","image_url":{"url":"u"}}`, `{"type":"text","text":"r"}`), []int{0, 1, 2, 3, 4, 5}},
		"calls of a user":      {[]pipeline.Message{fromJSON(pipeline.RoleUser, `"tool_calls":[{"id":"a"}]`), result("a")}, []int{0, 1}},
	} {
		if got := Units(c.messages); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// within returns a list with messages of the system after messages of the user.
func within(t *testing.T, call, result string) []pipeline.Message {
	t.Helper()
	list, err := message.DecodeList([]byte(`[{"role":"user","content":"q"},{"role":"system","content":"s"},{"role":"assistant","content":[` + call +
		`]},{"role":"user","content":[` + result + `]},{"role":"system","content":"t"},{"role":"assistant","content":"a"}]`))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Items of the Responses API.
const reasoning = `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}`

func asks(id string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
}

func returns(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"7"}`
}

// read reads messages of any form.
func read(messages ...string) []pipeline.Message {
	list, err := message.DecodeList([]byte("[" + strings.Join(messages, ",") + "]"))
	if err != nil {
		panic(err)
	}
	return list
}

// countingTokenizer counts the texts that it receives.
type countingTokenizer struct {
	pipeline.Tokenizer
	asked *int
}

func (c countingTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	*c.asked += len(texts)
	return c.Tokenizer.Count(ctx, texts...)
}

func TestMessageCounter(t *testing.T) {
	asked := 0
	c, err := NewCounter(CounterConfig{Tokenizer: countingTokenizer{pipeline.WordTokenizer(), &asked}})
	if err != nil {
		t.Fatal(err)
	}
	messages := []pipeline.Message{
		message.New(pipeline.RoleUser, "one two"),
		fromJSON(pipeline.RoleAssistant, `"tool_calls":[{"id": "a"}]`),
		message.NewResult("a", "tool", "one two"),
		message.Message{Role: pipeline.RoleAssistant},
	}
	for range 2 {
		counts, err := c.Count(t.Context(), messages)
		if err != nil || !slices.Equal(counts, []int{5, 4, 7, 3}) {
			t.Errorf("counts %v, %v", counts, err)
		}
	}
	if n, err := c.Total(t.Context(), messages[:2]); n != 9 || err != nil || c.Tokenizer().Name() != "words" {
		t.Errorf("total %d in %s, %v", n, c.Tokenizer().Name(), err)
	}
	if asked != 5 {
		t.Errorf("%d texts counted, want 5: each once, and again only what is in the list twice the first time", asked)
	}
}

func TestMessageCounterForgets(t *testing.T) {
	asked := 0
	c, err := NewCounter(CounterConfig{Tokenizer: countingTokenizer{pipeline.WordTokenizer(), &asked}, Overhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	hot := userMessages("hot")
	for i := range 3 * rememberedTexts {
		for _, m := range [][]pipeline.Message{hot, userMessages(fmt.Sprint("text ", i))} {
			if _, err := c.Total(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.young) + len(c.old); n > 2*rememberedTexts {
			t.Fatalf("%d counts kept", n)
		}
	}
	if want := 3*rememberedTexts + 1; asked != want {
		t.Errorf("%d texts counted, want %d: what is in use is not forgotten", asked, want)
	}
	if _, err := c.Total(t.Context(), userMessages("text 0")); err != nil || asked != 3*rememberedTexts+2 {
		t.Errorf("%d texts counted, %v: the oldest is forgotten", asked, err)
	}
}

func TestMessageCounterRefuses(t *testing.T) {
	if _, err := NewCounter(CounterConfig{Overhead: -2}); err == nil ||
		err.Error() != "message counter: overhead -2: invalid value (want 0 or more, or -1 for none)" {
		t.Error(err)
	}
}

// eachText calls text for each text of a message that costs tokens.
func eachText(m *pipeline.Message, text func(string)) {
	c := costs{text: text, media: func(media.Estimate) {}}
	c.message(m)
}

// Images, documents and sounds count by the rules of the model's provider, wherever in a message
// they are.
func TestMediaCountByTheRulesOfTheModel(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1024, 1024))); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(picture.Bytes())
	sound := base64.StdEncoding.EncodeToString(make([]byte, 80_000))
	block := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`
	pdf := `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	for _, c := range []struct {
		model, content string
		low, high      int
		kinds          string
	}{
		{"gpt-4o", block, 765, 765, "image"},
		{"gpt-4o", `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}`, 765, 765, "image"},
		{"gpt-4o", `{"type":"image_url","image_url":{"url":"https://a/b.png","detail":"low"}}`, 85, 85, "image"},
		{"gpt-4o", block + "," + block, 1530, 1530, "image image"},
		{"claude-sonnet-4-5", block, 1369, 1399, "image"},
		{"", block, 765, 1399, "image"},
		{"gpt-4o", `{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"},` + block + `]}`, 767, 767, "image"},
		{"gpt-4o", `{"type":"document","source":{"type":"content","content":[` + block + `]}}`, 765, 765, "image"},
		{"gpt-4o", `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"one two"}}`, 2, 2, ""},
		{"gemini-2.5-pro", pdf, 258, 258, "document"},
		{"gemini-2.5-pro", `{"type":"document","title":"a b","source":{"type":"url","url":"u"}}`, 2, 260, "document"},
		{"gemini-2.5-pro", `{"type":"input_audio","input_audio":{"format":"mp3","data":"` + sound + `"}}`, 65, 3414, "audio"},
		{"gemini-2.5-pro", `{"type":"video_url","video_url":{"url":"u"}}`, 0, 258, "unknown"},
		{"gpt-4o", `{"type":"thinking","thinking":"one two three","signature":"` + sound + `"}`, 0, 0, ""},
	} {
		counter, err := NewCounter(CounterConfig{Tokenizer: pipeline.WordTokenizer(), Overhead: -1, Model: c.model})
		if err != nil {
			t.Fatal(err)
		}
		list := []pipeline.Message{fromJSON(pipeline.RoleUser, `"content":[`+c.content+`]`)}
		for range 2 { // the second count is remembered
			low, high, err := counter.Bounds(t.Context(), list)
			if low != c.low || high != c.high || err != nil {
				t.Errorf("%s %.70s: %d to %d tokens, %v, want %d to %d", c.model, c.content, low, high, err, c.low, c.high)
			}
		}
		var kinds []string
		for _, e := range counter.Estimates(list) {
			for range e.Number {
				kinds = append(kinds, e.Kind)
			}
			if *e.Message != 0 || e.Source == "" || e.High > c.high {
				t.Errorf("%s %.70s: %+v", c.model, c.content, e)
			}
		}
		if got := strings.Join(kinds, " "); got != c.kinds {
			t.Errorf("%s %.70s: %q, want %q", c.model, c.content, got, c.kinds)
		}
	}
}

// The count of a large image is remembered with its message.
func TestALargeImageIsCountedOnce(t *testing.T) {
	counter, err := NewCounter(CounterConfig{Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		t.Fatal(err)
	}
	list := []pipeline.Message{fromJSON(pipeline.RoleUser, `"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+strings.Repeat("A", 20<<20)+`"}}]`)}
	count := func() time.Duration {
		began := time.Now()
		if n, err := counter.Total(t.Context(), list); n < 258 || err != nil {
			t.Errorf("%d tokens, %v", n, err)
		}
		return time.Since(began)
	}
	first, again := count(), count()
	for range 4 {
		again = min(again, count())
	}
	if again > first/2 {
		t.Errorf("the first count took %v, a further one %v", first, again)
	}
}
