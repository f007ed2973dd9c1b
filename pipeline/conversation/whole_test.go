package conversation

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

func wholeTurns(t *testing.T, list string) (turns []pipeline.Turn) {
	t.Helper()
	messages, err := message.DecodeList([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		turns = append(turns, core.TurnOf(m))
	}
	return turns
}

// A call never leaves a conversation without its results, whatever the policy chooses.
func TestCallsLeaveWithTheirResults(t *testing.T) {
	for name, policy := range map[string]EvictionPolicy{"none": nil, "oldest": EvictOldest, "pairs": EvictPairs} {
		s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 20, Tokenizer: pipeline.WordTokenizer(), Eviction: policy})
		if err != nil {
			t.Fatal(err)
		}
		left := false
		for n := range 12 {
			for _, turn := range wholeTurns(t, fmt.Sprintf(`[{"role":"user","content":"a b c"},`+
				`{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"c%d","name":"f","input":{}}]},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"one two three four"}]}]`, n, n)) {
				if err := s.AddTurn(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
			}
			messages, err := s.Messages()
			if err == nil {
				err = message.Check(messages, message.FormAnthropic)
			}
			if err != nil {
				t.Fatalf("%s: round %d: %v", name, n, err)
			}
			left = left || len(messages) < 3*(n+1)
		}
		if !left {
			t.Errorf("%s: no turn has left", name)
		}
	}
}

// A stored turn comes back with its message, and an image has its tokens.
func TestWholeTurnsAreStored(t *testing.T) {
	log := NewLog(store.NewMemory(), "t", "c")
	cfg := SlidingWindowConfig{MaxTokens: 4000, Log: log}
	s, err := NewSlidingWindow(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const picture = `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`
	if err := s.AddTurn(t.Context(), wholeTurns(t, "["+picture+"]")[0]); err != nil {
		t.Fatal(err)
	}
	if n := s.TotalTokens(); n <= 1600 || n > 1620 {
		t.Errorf("%d tokens", n)
	}
	again, err := NewSlidingWindow(cfg)
	if err == nil {
		err = log.Load(t.Context(), again)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages, err := again.Messages()
	if err != nil || len(messages) != 1 || messages[0].Raw() != picture || again.TotalTokens() != s.TotalTokens() {
		t.Errorf("%v, %d tokens: %v", messages, again.TotalTokens(), err)
	}
}

// A turn that is larger than the window loses its image, and keeps its call.
func TestCutTurnsKeepTheirCalls(t *testing.T) {
	s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 20, Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("word ", 50)
	turns := wholeTurns(t, `[{"role":"assistant","content":[{"type":"text","text":"`+long+`"},{"type":"tool_use","id":"c","name":"f","input":{}}]},`+
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]`)
	if len(turns) != 2 {
		t.Fatalf("%d turns, want 2", len(turns))
	}
	for _, turn := range turns {
		if err := s.AddTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		last := s.Turns()[len(s.Turns())-1]
		m, err := last.Message()
		if err != nil || last.TokenCount > 20 || last.Metadata["truncated"] != true || turn.Role == pipeline.RoleAssistant && len(m.Calls()) != 1 || core.Media(m.Parts) > 0 {
			t.Errorf("%+v %v", last, err)
		}
	}
}

// An image of a known size takes what the rule of the model's provider says.
func TestTheModelCountsImages(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 800, 600))); err != nil {
		t.Fatal(err)
	}
	turn := wholeTurns(t, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+base64.StdEncoding.EncodeToString(b.Bytes())+`"}}]}]`)[0]
	for model, want := range map[string]int{"gpt-4o": 765, "claude-sonnet-4-5": 640} {
		s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 4000, Model: model})
		if err == nil {
			err = s.AddTurn(t.Context(), turn)
		}
		if n := s.TotalTokens(); err != nil || n < want || n > want+5 {
			t.Errorf("%s: %d tokens, %v", model, n, err)
		}
	}
}
