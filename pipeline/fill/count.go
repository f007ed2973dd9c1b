package fill

import (
	"context"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// DefaultPriming is the number of tokens that start the answer of a chat model, according
// to OpenAI.
const DefaultPriming = 3

// CountOptions say what an exact count adds to the token counts of the texts of an output.
//
// A chat document, one with messages, counts as
//
//	texts + roles + messages × MessageOverhead + Priming + Tools
//
// where the system blocks of the Anthropic format together count as one message. OpenAI
// publishes this formula; Anthropic publishes none. For a plain text the count is that of
// the text and of Tools, and for any other document that of its JSON text and of Tools.
type CountOptions struct {
	// MessageOverhead is the number of tokens of a message besides its role and texts. 0
	// means [core.DefaultMessageOverhead], -1 none.
	MessageOverhead int
	// Priming is a number of tokens that is added once, if there are messages. 0 means
	// [DefaultPriming], -1 none.
	Priming int
	// Tools are the tool schemas, as text, that are sent together with the window.
	Tools string
}

func (o CountOptions) withDefaults() (CountOptions, error) {
	for _, v := range []struct {
		name     string
		value    *int
		fallback int
	}{{"message_overhead", &o.MessageOverhead, core.DefaultMessageOverhead}, {"priming", &o.Priming, DefaultPriming}} {
		switch {
		case *v.value == 0:
			*v.value = v.fallback
		case *v.value == -1:
			*v.value = 0
		case *v.value < 0:
			return o, fmt.Errorf("count: %s %d: %w (want 0 or more, or -1 for none)", v.name, *v.value, core.ErrInvalid)
		}
	}
	return o, nil
}

// Counting says how the tokens of a formatted output were counted.
type Counting struct {
	// Tokenizer is the name of the tokenizer that counted. Vocabulary is the SHA-256
	// digest of its vocabulary, if it has one.
	Tokenizer  string `json:"tokenizer"`
	Vocabulary string `json:"vocabulary_sha256,omitempty"`
	// Exact is false when the vocabulary of the model is not public. Low and High then
	// bound the number of tokens, and the total is High.
	Exact bool `json:"exact"`
	Low   int  `json:"low"`
	High  int  `json:"high"`
	// BaseTokens is the count of texts, roles and tool schemas in the encoding from which
	// Low and High are computed. Pass it to [tokens.Calibration.Observe] together with the
	// usage figures of the model. It is 0 when Exact.
	BaseTokens int `json:"base_tokens,omitempty"`
	// TextTokens are the tokens of texts and roles, OverheadTokens those of messages and
	// priming, ToolTokens those of the tool schemas. They add up to High.
	TextTokens     int `json:"text_tokens"`
	OverheadTokens int `json:"overhead_tokens"`
	ToolTokens     int `json:"tool_tokens,omitempty"`
	// Messages is the number of messages, 0 for a plain text.
	Messages int `json:"messages"`
	// Budget is the limit that the total had to stay within.
	Budget int `json:"budget,omitempty"`
}

// estimate is a tokenizer whose counts are intervals.
type estimate interface {
	Base() *tokens.Encoding
	Factors() (low, high float64)
}

// OutputCounter counts the tokens of formatted outputs. It is safe for concurrent use.
type OutputCounter struct {
	tokenizer core.Tokenizer
	options   CountOptions
}

// NewOutputCounter returns a counter for the outputs of formatters.
func NewOutputCounter(t core.Tokenizer, o CountOptions) (*OutputCounter, error) {
	o, err := o.withDefaults()
	return &OutputCounter{tokenizer: t, options: o}, err
}

// Count returns the tokens of an output and how they were counted. output is the result of
// a [Formatter], or a document of the same shape.
func (c *OutputCounter) Count(ctx context.Context, output any) (int, Counting, error) {
	m := c.measure(true)
	total, err := m.total(ctx, output)
	return total, m.counting(), err
}

// measure starts a series of counts. With whole, the meter counts each text in one piece;
// otherwise it counts only what has changed since the previous count.
func (c *OutputCounter) measure(whole bool) *outputMeter {
	m := &outputMeter{options: c.options, name: c.tokenizer.Name(), low: 1, high: 1}
	m.texts.tokenizer = c.tokenizer
	if e, ok := c.tokenizer.(estimate); ok {
		m.texts.tokenizer = e.Base()
		m.low, m.high = e.Factors()
	}
	if d, ok := m.texts.tokenizer.(divider); ok && !whole {
		m.texts.divide = d.NextSplit
	}
	return m
}

// outputMeter counts a series of outputs, each of which resembles the one before it.
type outputMeter struct {
	options   CountOptions
	name      string
	low, high float64 // factors of the counts of texts
	texts     textMeter
	last      outputTexts
	roles     map[core.Role]int
	tools     int // tokens of options.Tools
	toolsRead bool
	text      int // tokens of the last output's texts and roles
}

// total returns the upper end of the tokens of an output.
func (m *outputMeter) total(ctx context.Context, output any) (int, error) {
	if err := m.readTools(ctx); err != nil {
		return 0, err
	}
	m.last.reset()
	if err := m.last.read(output); err != nil {
		return 0, fmt.Errorf("count output: %w", err)
	}
	n, err := m.texts.count(ctx, m.last.texts)
	if err != nil {
		return 0, err
	}
	for _, role := range m.last.roles {
		r, err := m.role(ctx, role)
		if err != nil {
			return 0, err
		}
		n = values.Add(n, r)
	}
	m.text = n
	return m.sum(), nil
}

// sum returns the upper end of the tokens of the last output.
func (m *outputMeter) sum() int {
	return values.Add(values.Add(scale(m.text, m.high), scale(m.tools, m.high)), m.overhead())
}

func (m *outputMeter) overhead() int {
	if m.last.messages == 0 && !m.last.chat {
		return 0
	}
	return values.Add(m.last.messages*m.options.MessageOverhead, m.options.Priming)
}

// scale returns n times factor, rounded up. It is exact for the factor 1.
func scale(n int, factor float64) int {
	if factor == 1 {
		return n
	}
	return tokens.Scale(n, factor)
}

func (m *outputMeter) readTools(ctx context.Context) error {
	if m.toolsRead || m.options.Tools == "" {
		return nil
	}
	counts, err := core.CountTexts(ctx, m.texts.tokenizer, []string{m.options.Tools})
	if err != nil {
		return err
	}
	m.tools, m.toolsRead = counts[0], true
	return nil
}

// role returns the tokens of a role, which most messages share.
func (m *outputMeter) role(ctx context.Context, r core.Role) (int, error) {
	if n, ok := m.roles[r]; ok {
		return n, nil
	}
	counts, err := core.CountTexts(ctx, m.texts.tokenizer, []string{string(r)})
	if err != nil {
		return 0, err
	}
	if m.roles == nil {
		m.roles = make(map[core.Role]int)
	}
	m.roles[r] = counts[0]
	return counts[0], nil
}

// counting describes the last count.
func (m *outputMeter) counting() Counting {
	c := Counting{
		Tokenizer: m.name, Exact: m.low == 1 && m.high == 1, High: m.sum(),
		TextTokens: scale(m.text, m.high), ToolTokens: scale(m.tools, m.high), OverheadTokens: m.overhead(),
		Messages: m.last.messages,
	}
	c.Low = values.Add(int(math.Floor(float64(m.text+m.tools)*m.low)), m.overhead())
	if c.Exact {
		c.Low = c.High
	} else {
		c.BaseTokens = values.Add(m.text, m.tools)
	}
	if v, ok := m.texts.tokenizer.(interface{ Vocabulary() string }); ok {
		c.Vocabulary = v.Vocabulary()
	}
	return c
}
