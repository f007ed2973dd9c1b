package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/media"
)

// pictureOf returns a PNG of a size in base64.
func pictureOf(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// countedList is what assemble prints about tokens.
type countedList struct {
	Body     struct{ Messages []json.RawMessage }
	Messages []json.RawMessage
	Info     struct {
		Tools     int `json:"tool_tokens"`
		Over      int `json:"tokens_over"`
		Warnings  []string
		Estimates []struct {
			Message           *int
			Kind, Source      string
			Number, Low, High int
		}
		After struct {
			Tokens int
			Low    int `json:"low_tokens"`
		}
	} `json:"diagnostics"`
}

func assembleJSON(t *testing.T, in string, args ...string) (doc countedList, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, in, append([]string{"assemble", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != codeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	return doc, stderr
}

// The line about an assembly says which end of an interval counts.
func TestSummaryNamesTheEndThatCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, model := range []string{"claude-opus-4-8", "gpt-4o"} {
		doc, stderr := assembleJSON(t, fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"some words of the user"}]}`, model))
		after, want := doc.Info.After, ""
		if model != "gpt-4o" {
			want = fmt.Sprintf(" (between %d and %d: the upper end counts)", after.Low, after.Tokens)
		}
		if line := fmt.Sprintf("tokens: %d of 8192%s; ", after.Tokens, want); !strings.Contains(stderr, line) {
			t.Errorf("%s: %s, want %q", model, stderr, line)
		}
	}
}

// A list with images never exceeds its budget by the upper end of the published rules.
func TestImagesStayWithinTheBudget(t *testing.T) {
	const bare = "agent: {compaction: {enabled: false}, observation: {enabled: false}}\n"
	sizes := [][2]int{{64, 64}, {500, 300}, {1024, 1024}, {2000, 1200}}
	var list []string
	for i := range 24 {
		size := sizes[i%len(sizes)]
		list = append(list, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"%d"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`, i, pictureOf(t, size[0], size[1])))
		list = append(list, fmt.Sprintf(`{"role":"assistant","content":"answer %d"}`, i))
	}
	list = append(list, `{"role":"user","content":"and now"}`)
	in := "[" + strings.Join(list, ",") + "]"
	for _, model := range []string{"gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "my-own-model"} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": bare + "counting: {model: " + model + "}\n"}))
		kept := 0
		for _, limit := range []int{500, 3000, 8000, 20_000} {
			doc, stderr := assembleJSON(t, in, "--max-tokens", fmt.Sprint(limit))
			high := 0
			for _, m := range doc.Messages {
				at := slices.IndexFunc(list, func(s string) bool { return s == string(m) })
				if at < 0 {
					t.Fatalf("%s: a message that was not in the list: %.80s", model, m)
				}
				if at%2 == 0 && at < 48 {
					size := sizes[at/2%len(sizes)]
					high += media.Count(model, media.Part{Kind: media.Image, Width: size[0], Height: size[1]}).High
				}
			}
			images := 0
			for _, e := range doc.Info.Estimates {
				images += e.High
			}
			if high != images || high > doc.Info.After.Tokens || doc.Info.After.Tokens > limit || doc.Info.Over != 0 {
				t.Errorf("%s, %d tokens: images of %d, counted %d, in all %d, %s", model, limit, high, images, doc.Info.After.Tokens, stderr)
			}
			kept = max(kept, images)
		}
		if kept == 0 {
			t.Errorf("%s: no image is kept", model)
		}
	}
}

// Diagnostics and explanation say how contents that are not text were counted.
func TestAssembleSaysHowMediaAreCounted(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {model: claude-sonnet-4-5}\n"}))
	picture := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pictureOf(t, 1024, 1024) + `"}}`
	in := `{"model":"m","max_tokens":5,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"look"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + picture + "," + picture + `]}]}]}`
	doc, stderr := assembleJSON(t, in, "--explain")
	d := doc.Info
	if len(d.Estimates) != 2 {
		t.Fatalf("%+v", d)
	}
	if e := d.Estimates[0]; e.Message == nil || *e.Message != 2 || e.Kind != "image" || e.Number != 2 || e.Low != 2*1369 || e.High != 2*1399 || !strings.Contains(e.Source, "Anthropic vision guide") {
		t.Errorf("image: %+v", e)
	}
	e := d.Estimates[1]
	if e.Message != nil || e.Kind != "tools" || e.Number != 1 || e.High != d.Tools || e.High-e.Low < 371 || !strings.Contains(e.Source, "tool use guide") {
		t.Errorf("window: {tools: '%+v, %d'}", e, d.Tools)
	}
	if d.After.Low < 2*1369 || d.After.Low >= d.After.Tokens {
		t.Errorf("total: %+v", d.After)
	}
	for _, want := range []string{
		"2738–2798", "Anthropic vision guide", "tool use guide", fmt.Sprintf("%d–%d", d.After.Low+e.Low, d.After.Tokens+e.High),
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("explanation without %q: %s", want, stderr)
		}
	}
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {model: gpt-4o}\n"}))
	doc, stderr = assembleJSON(t, `[{"role":"user","content":"hi"}]`, "--explain")
	if len(doc.Info.Estimates) != 0 || doc.Info.After.Low != 0 || strings.Contains(stderr, "COUNTED BY") {
		t.Errorf("texts alone: %+v, %s", doc.Info, stderr)
	}
}

// The tools of a build count by the rules of the model's provider.
func TestBuildSaysHowToolsAreCounted(t *testing.T) {
	const config = "format: anthropic\nwindow:\n  max_tokens: 5000\n  fit: exact\n  system_prompts: [{content: be brief}]\n  tools: '[{\"name\": \"search\", \"input_schema\": {\"type\": \"object\"}}]'\n"
	t.Chdir(write(t, map[string]string{"anchor.yaml": config + "counting: {model: claude-sonnet-4-5}\n"}))
	code, stdout, stderr := run(t, "", "build", "--explain", "-o", "json", "hello")
	var doc struct {
		Counting struct {
			Low, High int
			Tools     int    `json:"tool_tokens"`
			LowTools  int    `json:"low_tool_tokens"`
			Source    string `json:"tool_source"`
		}
		Window struct {
			Tools int `json:"tool_tokens"`
		} `json:"window"`
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != codeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	if c := doc.Counting; c.LowTools <= 159 || c.Tools <= 530 || c.Tools != doc.Window.Tools || c.Low < c.LowTools || c.High <= c.Tools || !strings.Contains(c.Source, "Anthropic tool use guide") {
		t.Errorf("%+v", doc)
	}
	_, stdout, stderr = run(t, "", "build", "--explain", "hello")
	for _, want := range []string{"Anthropic tool use guide", fmt.Sprintf("%d–%d", doc.Counting.LowTools, doc.Counting.Tools), fmt.Sprintf("%d–%d", doc.Counting.Low, doc.Counting.High)} {
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("explanation without %q: %s%s", want, stdout, stderr)
		}
	}
}

func TestAssembleWarnsOfAnUnknownModelOnce(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {model: my-own-model}\n"}))
	const warning = `model "my-own-model": unknown model: its tokens are estimated`
	doc, stderr := assembleJSON(t, `[{"role":"user","content":"hi"}]`)
	if strings.Count(stderr, warning) != 1 || len(doc.Info.Warnings) != 1 || !strings.Contains(doc.Info.Warnings[0], warning) {
		t.Errorf("%+v, %s", doc.Info, stderr)
	}
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {model: gemini-2.5-pro}\n"}))
	if doc, stderr := assembleJSON(t, `[{"role":"user","content":"hi"}]`); strings.Contains(stderr, "warning") || len(doc.Info.Warnings) != 0 {
		t.Errorf("known: %+v, %s", doc.Info, stderr)
	}
}

// Conversations count their turns with the tokenizer of the builds.
func TestConversationsCountWithTheTokenizerOfTheFile(t *testing.T) {
	fixture := tokenizerFixture(t)
	text := strings.Repeat("antidisestablishmentarianism ", 20)
	counts := map[string]int{}
	for name, config := range map[string]string{"file": "counting: {tokenizer: {file: " + fixture + "}}\n", "default": "", "words": "counting: {tokenizer: words}\n"} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": config + "store: {path: s.db}\n"}))
		var turn struct {
			Tokens int `json:"token_count"`
		}
		out := must(t, "", "memory", "add", "--conversation", "c", "--role", "user", "-o", "json", text)
		if err := json.Unmarshal([]byte(out), &turn); err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		counts[name] = turn.Tokens
	}
	if counts["words"] != 20 || counts["file"] == counts["default"] || counts["file"] == 0 {
		t.Errorf("tokens %v", counts)
	}
}
