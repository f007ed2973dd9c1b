package frames

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// observationShare is the part of a run's budget that frames may take by default. It leaves
// most of the room for the conversation.
const observationShare = 4

// summaryPrefix is the beginning of the observation made from the global summary.
const summaryPrefix = "[frames summary] "

// ownObservation finds the observations that an earlier run made from frames. It matches
// the whole beginning of such an observation, because observations of others may also begin
// with "[frame ".
var ownObservation = regexp.MustCompile(`^\[(frame (0|[1-9][0-9]{0,18}) [^\]]+|frames summary)\] `)

// OwnsObservation reports whether an observation was made by a [FrameMemory], which
// replaces all its observations in each run.
func OwnsObservation(text string) bool { return ownObservation.MatchString(text) }

// ObservedFrames returns the ids of the frames from which observations were made.
func ObservedFrames(observations []string) (ids []uint64) {
	for _, text := range observations {
		if m := ownObservation.FindStringSubmatch(text); m != nil && m[2] != "" {
			if id, err := strconv.ParseUint(m[2], 10, 63); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Name returns the name in a provider chain.
func (m *FrameMemory) Name() string { return m.cfg.Name }

// Priority returns the place in a provider chain.
func (m *FrameMemory) Priority() int { return m.cfg.ProviderPriority }

// EstimateTokens returns the tokens of the observations that Apply would add under a
// budget without a bound.
func (m *FrameMemory) EstimateTokens(ctx context.Context, _ *agent.State) (int, error) {
	list, err := m.observations(ctx, 0)
	sum := 0
	for i := range list {
		sum += list[i].tokens
	}
	return sum, err
}

// Apply puts the frames into the observations of the state. They replace the frames that an
// earlier run put there. Apply does not change the messages; the observation provider puts
// all observations into them. Frames that do not fit into their share of the budget are
// left out. The global summary and the protected frames come first, followed by the other
// frames, the newest of each first.
func (m *FrameMemory) Apply(ctx context.Context, s *agent.State, _ []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, err := m.observations(ctx, b.MaxTokens)
	if err != nil {
		return nil, err
	}
	texts := slices.DeleteFunc(slices.Clone(s.Observations), OwnsObservation)
	for i := range list {
		texts = append(texts, list[i].text)
	}
	s.Observations = texts
	return nil, nil
}

// observation is the text made from a frame or from the global summary.
type observation struct {
	text      string
	tokens    int
	protected bool
}

// observations returns the observations to offer under a budget, in order. 0 means no
// bound.
func (m *FrameMemory) observations(ctx context.Context, budget int) ([]observation, error) {
	w := m.frames.View(Limits{MaxFrames: m.cfg.Limits.MaxFrames})
	list := make([]observation, 0, len(w.Frames)+1)
	if summary := m.frames.GlobalSummary(); summary != "" {
		list = append(list, observation{text: summaryPrefix + summary, protected: true})
	}
	for i := range w.Frames {
		f := &w.Frames[i]
		text := fmt.Sprintf("[frame %d %s] %s", f.ID, label(f.Kind), m.text(f))
		list = append(list, observation{text: text, protected: f.Kind.Protected()})
	}
	if err := m.count(ctx, list); err != nil {
		return nil, err
	}
	switch {
	case m.cfg.Limits.MaxTokens > 0:
		return fittingObservations(list, m.cfg.Limits.MaxTokens), nil
	case budget > 0:
		return fittingObservations(list, uint64(budget/observationShare)), nil
	}
	return list, nil
}

// count counts the tokens of observations.
func (m *FrameMemory) count(ctx context.Context, list []observation) error {
	if m.cfg.Tokenizer == nil {
		for i := range list {
			f := Frame{Summary: list[i].text}
			list[i].tokens = int(f.Weight())
		}
		return nil
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].text
	}
	counts, err := m.cfg.Tokenizer.Count(ctx, texts...)
	if err == nil && len(counts) != len(list) {
		err = fmt.Errorf("%d counts of %d texts: %w", len(counts), len(list), pipeline.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("frame memory: %w", err)
	}
	for i, n := range counts {
		list[i].tokens = n
	}
	return nil
}

// listMark is the number of tokens that the list of the observation provider adds to a
// text.
const listMark = 2

// fittingObservations returns the observations for which there is room, in order: the
// global summary, which is the first, then the newest protected ones, then the newest
// others. If an observation does not fit, older ones of its kind are left out as well.
func fittingObservations(list []observation, room uint64) []observation {
	keeps := make([]bool, len(list))
	take := func(i int) bool {
		cost := uint64(max(0, list[i].tokens)) + listMark
		if keeps[i] = cost <= room; keeps[i] {
			room -= cost
		}
		return keeps[i]
	}
	if len(list) > 0 && strings.HasPrefix(list[0].text, summaryPrefix) {
		take(0)
	}
	for _, protected := range []bool{true, false} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].protected == protected && !keeps[i] && !take(i) {
				break
			}
		}
	}
	fit := make([]observation, 0, len(list))
	for i := range list {
		if keeps[i] {
			fit = append(fit, list[i])
		}
	}
	return fit
}
