package providers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// ObservingConfig describes how observations and reflections are made. The zero value makes
// none.
type ObservingConfig struct {
	// Enabled puts the providers [Observing] and [Reflecting] into the chain of New.
	Enabled bool
	// Observe makes observations, Reflect makes reflections. nil means [Extract].
	Observe, Reflect agent.Distiller
	// HighWater is how many tokens the conversation may take before its oldest messages
	// become observations. 0 means half of the run's budget; without a bound there, nothing
	// is observed. Instructions, and messages of other providers, do not count.
	HighWater int
	// LowWater is how many tokens of the conversation stay then. 0 means half of HighWater.
	LowWater int
	// ReflectHighWater is how many tokens the observations may take before the oldest become
	// a reflection. 0 means half of HighWater. ReflectLowWater is how many tokens of
	// observations then stay. 0 means half of ReflectHighWater.
	ReflectHighWater, ReflectLowWater int
	// Foreign reports whether an observation belongs to another provider, which makes it
	// anew in each run. Such observations are neither counted nor replaced. nil means that
	// there are none.
	Foreign func(observation string) bool
	// Timeout bounds one Apply in the chain of New. 0 means the bound of the chain, or
	// DefaultCompactionTimeout with a Distiller.
	Timeout time.Duration
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// minNotes is the least room for an answer of a [agent.Distiller], in tokens: two or three
// lines.
const minNotes = 64

// waters are the bounds of one run, in tokens: high is the size that starts the work, low
// the size that it leaves.
type waters struct {
	high, low               int // of the conversation
	reflectHigh, reflectLow int // of the observations
}

// waters returns the bounds; high 0 means that nothing is observed.
func (cfg *ObservingConfig) waters(b agent.Budget) (w waters) {
	w.high = cmp.Or(cfg.HighWater, b.MaxTokens/2)
	w.low = cmp.Or(cfg.LowWater, max(1, w.high/2))
	w.reflectHigh = cmp.Or(cfg.ReflectHighWater, w.high/2)
	w.reflectLow = cmp.Or(cfg.ReflectLowWater, max(1, w.reflectHigh/2))
	return w
}

// notes returns the room for new observations, and reflection the room for a new
// reflection.
func (w waters) notes() int      { return max(minNotes, w.high/4) }
func (w waters) reflection() int { return max(minNotes, w.reflectHigh/2) }

// observations is the room for observations of which no reflection is made.
func (w waters) observations() int { return 2*w.reflectHigh + w.notes() }

// checked checks the configuration and returns it with its defaults.
func (cfg ObservingConfig) checked(provider string) (ObservingConfig, error) {
	err := checkBounds(provider, map[string]int{
		"high_water": cfg.HighWater, "low_water": cfg.LowWater,
		"reflect_high_water": cfg.ReflectHighWater, "reflect_low_water": cfg.ReflectLowWater,
	})
	if err != nil {
		return cfg, err
	}
	if cfg.Foreign == nil {
		cfg.Foreign = func(string) bool { return false }
	}
	if cfg.Counter, err = counterOr(cfg.Counter); err != nil {
		return cfg, err
	}
	if (cfg.Observe != nil || cfg.Reflect != nil) && cfg.Timeout == 0 {
		cfg.Timeout = DefaultCompactionTimeout
	}
	if cfg.Observe == nil {
		cfg.Observe = Extract{Counter: cfg.Counter}
	}
	if cfg.Reflect == nil {
		cfg.Reflect = Extract{Counter: cfg.Counter}
	}
	return cfg, nil
}

// split returns the observations that this configuration owns, and those of others.
func (cfg *ObservingConfig) split(observations []string) (own, foreign []string) {
	for _, text := range observations {
		if cfg.Foreign(text) {
			foreign = append(foreign, text)
		} else {
			own = append(own, text)
		}
	}
	return own, foreign
}

// tokens returns the tokens of each text as a message of its own.
func (cfg *ObservingConfig) tokens(ctx context.Context, texts []string) (counts []int, sum int, err error) {
	counts, err = countTexts(ctx, cfg.Counter, texts)
	for _, n := range counts {
		sum += n
	}
	return counts, sum, err
}

// fit refuses notes that take more tokens than there is room for, or too many bytes.
func (cfg *ObservingConfig) fit(ctx context.Context, what string, room int, notes ...string) error {
	if n := byteLen(notes); n > noteBytes*room {
		return fmt.Errorf("%s take %d bytes: %w (want at most %d)", what, n, pipeline.ErrInvalid, noteBytes*room)
	}
	_, n, err := cfg.tokens(ctx, notes)
	if err == nil && n > room {
		err = fmt.Errorf("%s take %d tokens: %w (want at most %d)", what, n, pipeline.ErrInvalid, room)
	}
	return err
}

// Observing turns the oldest messages of a conversation into observations when it has grown
// too large, and removes these messages from the list of the state. System messages, the
// newest user message and the newest messages stay; a tool call and its results stay or
// leave together. [Observation] then puts the observations before the conversation.
//
// Nothing changes if the distiller fails, if its answer takes too many tokens or bytes, or if
// the observations take twice the size at which they should have become a reflection.
// Observing is safe for concurrent use if its distiller is.
type Observing struct {
	cfg ObservingConfig
	// beginWithUser also observes the messages before the first user message that stays.
	beginWithUser bool
}

// NewObserving checks the configuration.
func NewObserving(cfg ObservingConfig) (*Observing, error) {
	cfg, err := cfg.checked(ObservingName)
	if err != nil {
		return nil, err
	}
	return &Observing{cfg: cfg}, nil
}

// Name returns ObservingName.
func (o *Observing) Name() string { return ObservingName }

// Priority returns ObservingPriority.
func (o *Observing) Priority() int { return ObservingPriority }

// EstimateTokens returns 0, because observing makes the list smaller.
func (o *Observing) EstimateTokens(context.Context, *agent.State) (int, error) { return 0, nil }

// Apply returns the messages that stay, or nil when the conversation is small enough, when
// all of it must stay, or when the distiller changes nothing.
func (o *Observing) Apply(ctx context.Context, s *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	w := o.cfg.waters(b)
	if w.high == 0 {
		return nil, nil
	}
	v, err := newView(ctx, o.cfg.Counter, msgs, true)
	if err != nil {
		return nil, err
	}
	own := ownMessages(msgs, s.Messages)
	talk := v.conversation(own)
	if talk <= w.high {
		return nil, nil
	}
	v.chooseNewest(own, v.total.tokens-talk+w.low)
	if o.beginWithUser {
		v.beginWithUser(func(i int) bool { return !own[i] })
	}
	old := v.rest()
	if len(old) == 0 {
		return nil, nil
	}
	notes, err := o.observe(ctx, s, old, w)
	if err != nil || notes == nil {
		return nil, err
	}
	s.Observations = notes
	s.Messages = v.those(func(i int) bool { return own[i] })
	return v.those(func(int) bool { return true }), nil
}

// observe returns the observations of the state, together with those of messages. nil means
// no change.
func (o *Observing) observe(ctx context.Context, s *agent.State, old []pipeline.Message, w waters) ([]string, error) {
	before, foreign := o.cfg.split(s.Observations)
	if _, n, err := o.cfg.tokens(ctx, before); err != nil || n > w.observations() {
		return nil, cmp.Or(err, fmt.Errorf("observations take %d tokens: %w (want at most %d: no reflection is made of them)",
			n, pipeline.ErrInvalid, w.observations()))
	}
	made, err := o.cfg.Observe.Observe(ctx, agent.Observing{
		Messages: slices.Clone(old), Observations: before, Reflection: s.Reflection, MaxTokens: w.notes(),
	})
	if err != nil {
		return nil, fmt.Errorf("observe %d messages: %w", len(old), err)
	}
	if made == nil {
		return nil, nil
	}
	if made.Replace != nil {
		before = nil
	}
	added := oneLine(slices.Concat(made.Replace, made.Add))
	if i := slices.IndexFunc(added, o.cfg.Foreign); i >= 0 { // it would neither be counted nor replaced
		return nil, fmt.Errorf("observe %d messages: observation %.60q: %w (it changes in each run)",
			len(old), added[i], pipeline.ErrInvalid)
	}
	if err := o.cfg.fit(ctx, "observations", w.notes(), added...); err != nil {
		return nil, fmt.Errorf("observe %d messages: %w", len(old), err)
	}
	return slices.Concat([]string{}, before, added, foreign), nil
}

// oneLine makes each observation one line, which the list of [Observation] needs, and
// leaves out blank ones.
func oneLine(texts []string) []string {
	lines := make([]string, 0, len(texts))
	for _, text := range texts {
		if line := strings.Join(strings.Fields(text), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// conversation returns the tokens of the messages of the state, without instructions.
func (v *view) conversation(own []bool) (tokens int) {
	for i := range v.msgs {
		if own[i] && !instructs(&v.msgs[i]) {
			tokens += v.counts[i]
		}
	}
	return tokens
}

// chooseNewest keeps the messages that must stay, those that are not from the state, the
// newest unit, and the newest others up to a number of tokens in all.
func (v *view) chooseNewest(own []bool, tokens int) {
	v.measure()
	v.pin()
	for i := range own {
		if !own[i] {
			v.keep(v.units[i])
		}
	}
	v.keep(v.units[len(v.msgs)-1])
	v.fill(size{tokens: tokens})
}

// rest returns the messages that the view does not keep.
func (v *view) rest() (out []pipeline.Message) {
	for i, unit := range v.units {
		if !v.keeps[unit] {
			out = append(out, v.msgs[i])
		}
	}
	return out
}

// those returns the kept messages for which wanted returns true.
func (v *view) those(wanted func(i int) bool) []pipeline.Message {
	out := make([]pipeline.Message, 0, v.kept.messages)
	for i, unit := range v.units {
		if v.keeps[unit] && wanted(i) {
			out = append(out, v.msgs[i])
		}
	}
	return out
}
