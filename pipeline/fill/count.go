package fill

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/tokens"
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
	// Tools are the tool schemas, as text, that are sent together with the window. An output
	// that has tools counts with these instead.
	Tools string
	// Model is the model whose provider's rules count the tools, see [media.Tools], and images,
	// documents and sounds, see [media.OfMessage]. Empty: tools count as their text, and the
	// bounds of all known rules apply to the rest.
	Model string
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
	// Exact is false when the vocabulary of the model or its rule for tools is not public. Low
	// and High then bound the number of tokens, and the total is High.
	Exact bool `json:"exact"`
	Low   int  `json:"low"`
	High  int  `json:"high"`
	// Source says where the factors of Low and High come from. It is empty when Exact.
	Source string `json:"source,omitempty"`
	// BaseTokens is the count of texts, roles and tool schemas in the encoding from which
	// Low and High are computed. Pass it to [tokens.Calibration.Observe] together with the
	// usage figures of the model. It is 0 when Exact.
	BaseTokens int `json:"base_tokens,omitempty"`
	// TextTokens are the tokens of texts and roles, OverheadTokens those of messages and
	// priming, ToolTokens those of the tool schemas, MediaTokens those of images, documents and
	// sounds. They add up to High.
	TextTokens     int `json:"text_tokens"`
	OverheadTokens int `json:"overhead_tokens"`
	ToolTokens     int `json:"tool_tokens,omitempty"`
	// LowToolTokens is the lower end of ToolTokens. ToolSource names the rule of the model's
	// provider that counted the tools; it is empty if they count as their text.
	LowToolTokens int    `json:"low_tool_tokens,omitempty"`
	ToolSource    string `json:"tool_source,omitempty"`
	// LowMediaTokens is the lower end of MediaTokens. MediaSource names the rule of the model's
	// provider that counted the first of them.
	MediaTokens    int    `json:"media_tokens,omitempty"`
	LowMediaTokens int    `json:"low_media_tokens,omitempty"`
	MediaSource    string `json:"media_source,omitempty"`
	// Messages is the number of messages, 0 for a plain text.
	Messages int `json:"messages"`
	// Budget is the limit that the total had to stay within.
	Budget int `json:"budget,omitempty"`
}

// estimate is a tokenizer whose counts are intervals.
type estimate interface {
	Base() *tokens.Encoding
	Factors() (low, high float64)
	Source() string
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
	m := &outputMeter{options: c.options, name: c.tokenizer.Name(), low: 1, high: 1, last: outputTexts{model: c.options.Model}}
	m.texts.tokenizer = c.tokenizer
	if e, ok := c.tokenizer.(estimate); ok {
		m.texts.tokenizer = e.Base()
		m.low, m.high = e.Factors()
		m.source = e.Source()
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
	source    string
	low, high float64 // factors of the counts of texts
	texts     textMeter
	last      outputTexts
	roles     map[core.Role]int
	tools     int    // tokens of toolsText
	toolsText string // the tools of the last output
	text      int    // tokens of the last output's texts and roles
}

// total returns the upper end of the tokens of an output.
func (m *outputMeter) total(ctx context.Context, output any) (int, error) {
	m.last.reset()
	if err := m.last.read(output); err != nil {
		return 0, fmt.Errorf("count output: %w", err)
	}
	if err := m.readTools(ctx, cmp.Or(m.last.tools, m.options.Tools)); err != nil {
		return 0, err
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
	return values.Add(values.Add(scale(m.text, m.high), m.toolBounds().High), values.Add(m.last.media.High, m.overhead()))
}

// toolBounds returns the bounds of the tokens of the tools.
func (m *outputMeter) toolBounds() media.Estimate {
	e := CountTools(m.options.Model, m.toolsText, scale(m.tools, m.high))
	e.Low = CountTools(m.options.Model, m.toolsText, int(math.Floor(float64(m.tools)*m.low))).Low
	return e
}

// CountTools returns the bounds of the tokens of tools, of which tokens is the count of the text.
// The rules are those of the model's provider. Without a model the count is that of the text.
func CountTools(model, tools string, tokens int) media.Estimate {
	if model == "" || tokens == 0 {
		return media.Estimate{Low: tokens, High: tokens}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(tools), &list) != nil {
		list = nil
	}
	return media.Tools(model, tokens, max(1, len(list)))
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

// readTools counts the tools, which outputs of one series share.
func (m *outputMeter) readTools(ctx context.Context, tools string) error {
	if tools == m.toolsText {
		return nil
	}
	counts, err := core.CountTexts(ctx, m.texts.tokenizer, []string{tools})
	if err != nil {
		return err
	}
	m.tools, m.toolsText = counts[0], tools
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
	tools := m.toolBounds()
	c := Counting{
		Tokenizer: m.name, High: m.sum(),
		TextTokens: scale(m.text, m.high), ToolTokens: tools.High, OverheadTokens: m.overhead(),
		Messages: m.last.messages,
	}
	if m.tools > 0 {
		c.LowToolTokens, c.ToolSource = tools.Low, tools.Source
	}
	c.LowMediaTokens, c.MediaTokens, c.MediaSource = m.last.media.Low, m.last.media.High, m.last.media.Source
	c.Low = values.Add(values.Add(int(math.Floor(float64(m.text)*m.low)), tools.Low), values.Add(m.last.media.Low, m.overhead()))
	estimated := m.low != 1 || m.high != 1
	c.Exact = !estimated && tools.Exact() && m.last.media.Exact()
	if estimated {
		c.BaseTokens, c.Source = values.Add(m.text, m.tools), m.source
	}
	if v, ok := m.texts.tokenizer.(interface{ Vocabulary() string }); ok {
		c.Vocabulary = v.Vocabulary()
	}
	return c
}
