package frames

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// The defaults of a MemoryConfig.
const (
	// DefaultMemoryFrames is how many frames are offered. They cover the recent work and
	// leave room in a small window.
	DefaultMemoryFrames = 50
	// DefaultProviderPriority is lower than that of the built-in observation provider, 10,
	// which puts the observations into the messages.
	DefaultProviderPriority = 5
	// DefaultProviderName is the name in a provider chain.
	DefaultProviderName = "frames"
)

// MemoryConfig describes how frames are offered. The zero value works.
type MemoryConfig struct {
	// Limits choose the part of the window that is offered. MaxFrames 0 means
	// DefaultMemoryFrames. MaxTokens bounds the observations of an agent; 0 means a
	// quarter of the budget of the run, and no bound for a build, which has its own.
	Limits Limits
	// Priority is the priority of the items, 1 to 9. Protected frames and the global
	// summary have a priority higher by one. 0 means 8, the default of memory.
	Priority int
	// WithData offers the data of the frames below their summaries.
	WithData bool
	// Name and ProviderPriority are those of the context provider. Empty means
	// DefaultProviderName, 0 DefaultProviderPriority.
	Name             string
	ProviderPriority int
	// Tokenizer counts observations. nil means a quarter of the characters.
	Tokenizer pipeline.Tokenizer
}

// FrameMemory offers the frames of one pipeline to both chains: to a build as a
// [pipeline.MemoryProvider], to an agent loop as a [agent.Provider]. It is
// safe for concurrent use.
type FrameMemory struct {
	frames *Pipeline
	cfg    MemoryConfig
}

// NewFrameMemory checks the configuration.
func NewFrameMemory(p *Pipeline, cfg MemoryConfig) (*FrameMemory, error) {
	if p == nil {
		return nil, fmt.Errorf("frame memory: no pipeline: %w", pipeline.ErrInvalid)
	}
	cfg.Limits.MaxFrames = cmp.Or(cfg.Limits.MaxFrames, DefaultMemoryFrames)
	cfg.Priority = cmp.Or(cfg.Priority, pipeline.SourceMemory.DefaultPriority())
	if cfg.Priority < pipeline.MinPriority || cfg.Priority >= pipeline.MaxPriority {
		return nil, fmt.Errorf("frame memory: priority %d: %w (want %d to %d)",
			cfg.Priority, pipeline.ErrInvalid, pipeline.MinPriority, pipeline.MaxPriority-1)
	}
	cfg.Name = cmp.Or(cfg.Name, DefaultProviderName)
	cfg.ProviderPriority = cmp.Or(cfg.ProviderPriority, DefaultProviderPriority)
	return &FrameMemory{frames: p, cfg: cfg}, nil
}

// Isolated marks the memory, because it changes nothing that it receives. See
// [pipeline.Isolated].
func (m *FrameMemory) Isolated() {}

// Items returns the global summary, if there is one, and the frames, oldest first, as items
// of source memory. Protected frames score 1, the others 0.5 for the oldest to 1 for the
// newest. Items have no token counts, because an estimate is not a count.
func (m *FrameMemory) Items(ctx context.Context, _ *pipeline.Query) ([]pipeline.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := m.frames.View(m.cfg.Limits)
	items := make([]pipeline.Item, 0, len(w.Frames)+1)
	if summary := m.frames.GlobalSummary(); summary != "" {
		items = append(items, m.summaryItem(w, summary))
	}
	for i := range w.Frames {
		items = append(items, m.item(w.Pipeline, &w.Frames[i], recency(i, len(w.Frames))))
	}
	return items, nil
}

// ItemFrames returns the ids of the frames from which items were made. A step can make
// items with the same form of id, so the result may contain ids that no frame has.
func ItemFrames(items []pipeline.Item) (ids []uint64) {
	for i := range items {
		it := &items[i]
		text, ok := strings.CutPrefix(it.ID, itemPrefix)
		if !ok || it.Source != pipeline.SourceMemory {
			continue
		}
		if id, err := strconv.ParseUint(text, 10, 63); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// itemPrefix is the beginning of the id of an item made from a frame.
const itemPrefix = "frame-"

func (m *FrameMemory) item(pipelineID UUID, f *Frame, score float64) pipeline.Item {
	protected := f.Kind.Protected()
	priority := m.cfg.Priority
	if protected {
		score, priority = 1, priority+1
	}
	return pipeline.Item{
		ID:       itemPrefix + strconv.FormatUint(f.ID, 10),
		Content:  fmt.Sprintf("[%s] %s", label(f.Kind), m.text(f)),
		Source:   pipeline.SourceMemory,
		Score:    score,
		Priority: priority,
		Metadata: map[string]any{
			"pipeline": pipelineID.String(), "frame_id": int64(f.ID), "kind": string(f.Kind), "protected": protected,
		},
		CreatedAt: f.CreatedAt,
		Sequence:  int64(f.ID) + 1, // because 0 means that an item has no number
	}
}

// summaryItem is dated so that it comes before the frames.
func (m *FrameMemory) summaryItem(w Window, summary string) pipeline.Item {
	first := m.frames.Header().CreatedAt
	for i := range w.Frames {
		first = earlier(first, w.Frames[i].CreatedAt)
	}
	return pipeline.Item{
		ID: "frames-summary", Content: summary, Source: pipeline.SourceMemory, Score: 1, Priority: m.cfg.Priority + 1,
		Metadata: map[string]any{"pipeline": w.Pipeline.String(), "summary": true}, CreatedAt: first,
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// recency rises from 0.5 for the oldest of n to 1 for the newest, in four decimals.
func recency(i, n int) float64 {
	if n < 2 {
		return 1
	}
	return math.Round((0.5+0.5*float64(i)/float64(n-1))*1e4) / 1e4
}

// text returns the summary of a frame, with its data if the configuration asks for data.
func (m *FrameMemory) text(f *Frame) string {
	if !m.cfg.WithData || len(f.Data) == 0 {
		return f.Summary
	}
	return f.Summary + "\n" + string(f.Data)
}

var (
	_ pipeline.MemoryProvider = (*FrameMemory)(nil)
	_ agent.Provider          = (*FrameMemory)(nil)
	_ pipeline.Isolated       = (*FrameMemory)(nil)
)
