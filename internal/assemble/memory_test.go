package assemble

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/store"
)

// built builds a window of words and returns its items.
func built(t *testing.T, c config.Config, s store.Store, logger *slog.Logger) []pipeline.Item {
	t.Helper()
	c.Tokenizer = config.Choice{Name: "words"}
	a, err := New(t.Context(), LoadedOf(&c), Options{Logger: logger}, Overrides{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	r, err := a.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Window.Items
}

func texts(items []pipeline.Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Content)
	}
	slices.Sort(out)
	return out
}

func framed(t *testing.T, s store.Store, n int) *frames.Pipeline {
	t.Helper()
	run := agentstore.Run{Store: s, Tenant: "default", ID: "fix-42"}
	p, err := run.OpenFrames(t.Context(), frames.Actor{Kind: frames.Agent, ID: "test"}, frames.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		f := frames.Frame{Kind: frames.StepSummary, Summary: fmt.Sprintf("step %d", i), Data: []byte(`{"ok":true}`)}
		if _, err := p.Push(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestFramesOfABuild(t *testing.T) {
	s := store.NewMemory()
	framed(t, s, 3)
	talk := &config.Conversation{Turns: []config.Turn{{Role: "user", Content: "hello"}}}
	for _, tt := range []struct {
		name   string
		config config.Config
		want   []string
	}{
		{"alone", config.Config{Memory: config.Memory{Frames: &config.RunFrames{Run: "fix-42"}}}, []string{"[step_summary] step 0", "[step_summary] step 1", "[step_summary] step 2"}},
		{"with data", config.Config{Memory: config.Memory{Frames: &config.RunFrames{Run: "fix-42", MaxFrames: 1, Data: true}}}, []string{"[step_summary] step 2\n{\"ok\":true}"}},
		{"beside a conversation", config.Config{Memory: config.Memory{Frames: &config.RunFrames{Run: "fix-42", MaxFrames: 1}, Conversation: talk}}, []string{"[step_summary] step 2", "hello"}},
		{"beside a plugin that is missing", config.Config{Memory: config.Memory{Use: config.Use{Name: "gone"}, Frames: &config.RunFrames{Run: "fix-42", MaxFrames: 1}}}, []string{"[step_summary] step 2"}},
		{"of another tenant", config.Config{Tenant: "other", Memory: config.Memory{Frames: &config.RunFrames{Run: "fix-42"}, Conversation: talk}}, []string{"hello"}},
	} {
		var log strings.Builder
		got := texts(built(t, tt.config, s, slog.New(slog.NewTextHandler(&log, nil))))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if warned := strings.Contains(log.String(), "run has no frames"); warned != (tt.config.Tenant == "other") {
			t.Errorf("%s: log %q", tt.name, log.String())
		}
	}
	c := config.Config{Memory: config.Memory{Frames: &config.RunFrames{Run: "fix-42"}}}
	a, err := New(t.Context(), LoadedOf(&c), Options{}, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Build(t.Context(), pipeline.Query{}); !UsesStore(&c) || err == nil || err.Error() != "no store is open" {
		t.Errorf("without a store: %v", err)
	}
}

func TestFramesOfAnAgent(t *testing.T) {
	off := false
	for _, tt := range []struct {
		name string
		cfg  config.Offer
		want int
	}{
		{"default", config.Offer{}, 50},
		{"off", config.Offer{Enabled: &off}, 0},
		{"number", config.Offer{MaxFrames: 4}, 4},
		{"tokens", config.Offer{MaxTokens: 14}, 2}, // each has 5 words and 2 for its mark
	} {
		c := config.Config{Agent: config.Agent{Frames: tt.cfg}, Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}}
		g, err := Open(LoadedOf(&c), Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := g.Agent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		chain, err := a.Chain("", framed(t, store.NewMemory(), 60), nil)
		if err != nil {
			t.Fatal(err)
		}
		state := agent.State{Messages: []pipeline.Message{message.New(pipeline.RoleUser, "go on")}}
		done, err := chain.Assemble(t.Context(), &state, state.Messages, agent.Budget{MaxTokens: 8192})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, m := range done.Messages {
			if strings.HasPrefix(m.Text(), providers.DefaultObservationHeader) {
				got = strings.Count(m.Text(), "\n- [frame ")
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d frames, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConversationSettings(t *testing.T) {
	var turns []config.Turn
	for i, role := range []string{"user", "assistant", "tool", "user", "assistant"} {
		turns = append(turns, config.Turn{Role: role, Content: fmt.Sprintf("turn %d", i)})
	}
	for eviction, want := range map[string]int{"": 4, "fifo": 4, "paired": 3, "exchange": 2} {
		items := built(t, config.Config{Memory: config.Memory{Conversation: &config.Conversation{MaxTokens: 8, Eviction: eviction, Turns: turns}}}, nil, nil)
		if len(items) != want {
			t.Errorf("eviction %q: %q, want %d turns", eviction, texts(items), want)
		}
	}
	scores := map[string]float64{}
	for _, it := range built(t, config.Config{Memory: config.Memory{Conversation: &config.Conversation{Turns: turns}}}, nil, nil) {
		scores[it.Content] = it.Score
	}
	if scores["turn 0"] != 0.5 || scores["turn 1"] != 0.625 || scores["turn 4"] != 1 {
		t.Errorf("scores %v", scores)
	}
}
