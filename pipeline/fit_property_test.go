package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// independent counts outputs with tiktoken-go, by the formula in [CountOptions].
type independent struct {
	enc    *tiktoken.Tiktoken
	known  map[string]int
	factor int // tenths of a token for each token of a text
}

// The loader is a variable of the library, and several tests run at the same time.
func init() { tiktoken.SetBpeLoader(loader.NewOfflineLoader()) }

func newIndependent(t testing.TB, encoding string) *independent {
	t.Helper()
	enc, err := tiktoken.GetEncoding(encoding)
	if err != nil {
		t.Fatal(err)
	}
	return &independent{enc: enc, known: map[string]int{}, factor: 10}
}

func (c *independent) text(s string) int {
	n, ok := c.known[s]
	if !ok {
		n = len(c.enc.EncodeOrdinary(s))
		c.known[s] = n
	}
	return n
}

// output knows an output by its JSON only.
func (c *independent) output(t testing.TB, output any, o fill.CountOptions) int {
	t.Helper()
	if s, ok := output.(string); ok {
		return c.upper(c.text(s) + c.text(o.Tools))
	}
	doc, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	var chat struct {
		System   []struct{ Text string } `json:"system"`
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
		Instructions string `json:"instructions"`
		Input        []struct{ Role, Content string }
		Instruction  struct {
			Parts []struct{ Text string }
		} `json:"systemInstruction"`
		Contents []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	if err := json.Unmarshal(doc, &chat); err != nil {
		t.Fatal(err)
	}
	overhead := o.MessageOverhead
	if overhead == 0 {
		overhead = 3
	}
	sum, around := c.text(o.Tools), 3+overhead*len(chat.Messages)
	if len(chat.System) > 0 {
		sum, around = sum+c.text("system"), around+overhead
	}
	if chat.Instructions != "" {
		sum, around = sum+c.text("system")+c.text(chat.Instructions), around+overhead
	}
	for _, m := range chat.Input {
		sum, around = sum+c.text(m.Role)+c.text(m.Content), around+overhead
	}
	for _, p := range chat.Instruction.Parts {
		sum, around = sum+c.text("system")+c.text(p.Text), around+overhead
	}
	for _, m := range chat.Contents {
		sum, around = sum+c.text(m.Role)+c.text(m.Parts[0].Text), around+overhead
	}
	for _, block := range chat.System {
		sum += c.text(block.Text)
	}
	for _, m := range chat.Messages {
		sum += c.text(m.Role)
		switch content := m.Content.(type) {
		case string:
			sum += c.text(content)
		case []any:
			for _, block := range content {
				sum += c.text(block.(map[string]any)["text"].(string))
			}
		}
	}
	return c.upper(sum) + around
}

// upper returns the upper end of the tokens of a model.
func (c *independent) upper(n int) int { return (n*c.factor + 9) / 10 }

// titles is a formatter like a plugin's: it returns a document, and of each item only
// only some members.
type titles struct{}

func (titles) FormatType() string { return "titles" }

func (titles) Format(_ context.Context, w *Window) (any, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var doc struct {
		Messages []message `json:"messages"`
	}
	doc.Messages = []message{}
	for i := range w.Items {
		it := &w.Items[i]
		doc.Messages = append(doc.Messages, message{"user", fmt.Sprintf("[%s] %.12s", it.ID, strings.ToValidUTF8(it.Content, "?"))})
	}
	raw, err := json.Marshal(doc)
	return json.RawMessage(raw), err
}

// pieces are the parts of contents: ten scripts, code, and texts whose tokens merge badly.
var pieces = []string{
	"The quick brown fox jumps over the lazy dog. ", "contexts ", "deadline", "func main() {\n\tprintln(1)\n}\n", "漢字かな交じり文。", "Привет, мир! ", "ελληνικά ",
	"שלום ", "مرحبا ", "हिन्दी ", "ไทย", "한국어 ", "🎉👩‍👩‍👧", "12345 ", "x=1;", "{\"a\": [1, 2]}", "\n", "\n\n", "  ", "\t", "---", "\n---\n", "/", "//", "===", "…", "’s", ".", " \n ", "a", "\u3000", "\u00a0",
}

func randomContent(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func fitItems(r *rand.Rand) []Item {
	items := make([]Item, r.IntN(16))
	for i := range items {
		source := anySource(r)
		items[i] = Item{
			ID: fmt.Sprintf("i%d", i), Content: randomContent(r), Source: source, Score: float64(r.IntN(5)) / 4, Priority: 1 + r.IntN(10),
			CreatedAt: seedEpoch.Add(time.Duration(r.IntN(10)) * time.Minute), Metadata: map[string]any{"role": []string{"user", "assistant"}[r.IntN(2)]},
		}
		if r.IntN(10) == 0 {
			items[i].TokenCount = 1 + r.IntN(200) // believed by budgets, not by an exact count
		}
	}
	return items
}

func randomFormatter(r *rand.Rand) Formatter {
	list := append(format.All(), format.Anthropic{Caching: true}, titles{})
	return list[r.IntN(len(list))]
}

// claude is a model whose vocabulary is not public.
const claude = "claude-3-5-sonnet-20241022"

// randomWindow is one build of the property.
type randomWindow struct {
	cfg   Config
	items []Item
	query string
}

func newRandomWindow(t testing.TB, r *rand.Rand, encoding string) randomWindow {
	t.Helper()
	tokenizer, err := EncodingTokenizer(encoding)
	if encoding == claude {
		tokenizer, err = ModelTokenizer(encoding)
	}
	if err != nil {
		t.Fatal(err)
	}
	items := fitItems(r)
	cfg := Config{MaxTokens: 4 + r.IntN(150), Tokenizer: tokenizer, Formatter: randomFormatter(r), Fit: fill.FitExact, Fill: strategies()[r.IntN(3)%3]}
	query := "q"
	if cfg.IncludeQuery = r.IntN(2) == 0; cfg.IncludeQuery {
		query = randomContent(r) + "why?" + []string{"", " ", "\n"}[r.IntN(3)]
		if n := len(items); n > 0 && r.IntN(3) == 0 {
			query = cmp.Or(strings.TrimSpace(items[r.IntN(n)].Content), query) // the last turn may ask it already
		}
		cfg.MaxTokens += 2*len(query) + 20
	}
	if empty, err := cfg.Formatter.Format(t.Context(), &Window{}); err != nil {
		t.Fatal(err)
	} else if text, ok := empty.(string); ok {
		cfg.MaxTokens += len(text) // a window holds at least what its formatter writes around no items
	}
	if r.IntN(2) == 0 {
		cfg.Fill = fill.FirstFit{}
	}
	if r.IntN(3) == 0 {
		cfg.Order = fill.WindowOrders[r.IntN(len(fill.WindowOrders))]
	}
	if r.IntN(4) == 0 {
		cfg.Count = fill.CountOptions{MessageOverhead: 1 + r.IntN(6)}
	}
	cfg.Steps = []StepConfig{{Name: "search", Step: RetrieverStep(fixedRetriever(items), 100)}}
	return randomWindow{cfg, items, query}
}

// sorted returns the items in the order of their priority.
func (w *randomWindow) sorted() []Item {
	sorted := slices.Clone(w.items)
	slices.SortStableFunc(sorted, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.Score, a.Score))
	})
	slices.SortStableFunc(sorted, func(a, b Item) int { return others(a) - others(b) })
	return sorted
}

// others is 0 for system items, which come first.
func others(it Item) int {
	if it.Source == SourceSystem {
		return 0
	}
	return 1
}

// tokensOf formats the items that keep wants, in the order of the configuration, and
// counts them independently.
func (w *randomWindow) tokensOf(t testing.TB, c *independent, keep func(*Item) bool) int {
	t.Helper()
	sorted := w.sorted()
	var picked []int32
	for i := range sorted {
		if keep(&sorted[i]) {
			picked = append(picked, int32(i))
		}
	}
	w.cfg.Order.Arrange(sorted, picked)
	window := &Window{MaxTokens: w.cfg.MaxTokens}
	if w.cfg.IncludeQuery {
		window.Query = w.query
	}
	for _, i := range picked {
		window.Items = append(window.Items, sorted[i])
	}
	output, err := w.cfg.Formatter.Format(t.Context(), window)
	if err != nil {
		t.Fatal(err)
	}
	return c.output(t, output, w.cfg.Count)
}

// No window is over its budget, the count is the independent one, and no item was left
// out that would have fitted: neither when its turn came nor at the end.
func TestExactFitHoldsInRandomWindows(t *testing.T) {
	t.Parallel()
	rounds := 10_000
	if os.Getenv("ANCHOR_THOROUGH") == "" || underRace {
		rounds = 1000
	}
	r := rand.New(rand.NewPCG(6, 7))
	overflowed := 0
	for _, encoding := range []string{"cl100k_base", "o200k_base", claude} {
		c := newIndependent(t, strings.Replace(encoding, claude, "o200k_base", 1))
		if encoding == claude {
			c.factor = 16 // its upper end, with nothing observed
		}
		for round := range (rounds + 2) / 3 {
			w := newRandomWindow(t, r, encoding)
			p, err := New(w.cfg)
			if err != nil {
				t.Fatal(err)
			}
			result, err := p.Build(t.Context(), Query{Text: w.query})
			if withoutSystem(err) {
				continue
			}
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			got := c.output(t, result.Output, w.cfg.Count)
			if got > w.cfg.MaxTokens || got != result.Counted {
				t.Fatalf("round %d: %d tokens of %d, counted as %d (%T, %s)", round, got, w.cfg.MaxTokens, result.Counted, w.cfg.Formatter, w.cfg.Order)
			}
			in := map[string]bool{}
			for _, it := range result.Window.Items {
				in[it.ID] = true
			}
			overflowed += len(result.Overflow)
			checkMisfits(t, &w, c, result, in, round)
		}
	}
	if overflowed < rounds {
		t.Errorf("only %d items overflowed in %d windows", overflowed, rounds)
	}
}

func checkMisfits(t *testing.T, w *randomWindow, c *independent, result *Result, in map[string]bool, round int) {
	t.Helper()
	first := w.cfg.Fill.Name() == fill.FirstFit{}.Name()
	sorted := w.sorted()
	for _, o := range result.Overflow {
		place := slices.IndexFunc(sorted, func(it Item) bool { return it.ID == o.ID })
		if first {
			n := w.tokensOf(t, c, func(it *Item) bool {
				return it.ID == o.ID || in[it.ID] && slices.IndexFunc(sorted, func(s Item) bool { return s.ID == it.ID }) < place
			})
			if n <= w.cfg.MaxTokens {
				t.Errorf("round %d: item %s of %T would have fitted when it was tried: %d of %d", round, o.ID, w.cfg.Formatter, n, w.cfg.MaxTokens)
			}
		}
		if n := w.tokensOf(t, c, func(it *Item) bool { return it.ID == o.ID || in[it.ID] }); n <= w.cfg.MaxTokens {
			t.Errorf("round %d: item %s of %T would still fit: %d of %d (%s, %s)", round, o.ID, w.cfg.Formatter, n, w.cfg.MaxTokens, w.cfg.Fill.Name(), w.cfg.Order)
		}
	}
}
