package media

import (
	"math"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/tokens"
)

// rules are those of a provider, for one model.
type rules interface {
	image(p Part) Estimate
	document(pages count) Estimate
	sound(s span) Estimate
	tools(tokens, tools int) Estimate
}

// rulesOf returns the rules for a model.
func rulesOf(model string) rules {
	family, err := tokens.LookupModel(model)
	name := tokens.PlainName(model)
	switch {
	case err != nil:
		return anyRules{}
	case strings.HasPrefix(family.Family, "claude"):
		return claude{large: !beforeLarge(name)}
	case strings.HasPrefix(family.Family, "gemini"):
		return gemini{three: !strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2")}
	case strings.HasPrefix(family.Family, "gpt-") || strings.HasPrefix(family.Family, "chatgpt") ||
		len(family.Family) == 2 && family.Family[0] == 'o' || family.Family == "computer-use-preview":
		return openAIRules(name)
	}
	return anyRules{}
}

// interval returns the estimate between two numbers, in either order.
func interval(a, b float64, source string) Estimate {
	return Estimate{bounded(min(a, b)), bounded(max(a, b)), source}
}

// cells returns the number of squares of an edge that cover an area.
func cells(width, height, edge float64) float64 {
	return math.Ceil(width/edge) * math.Ceil(height/edge)
}

// within returns a size that is scaled down so that neither edge exceeds one.
func within(width, height, edge float64) (float64, float64) {
	scale := min(1, edge/max(width, height))
	return width * scale, height * scale
}

// openAI counts images in tiles of 512 pixels, or in patches of 32.
type openAI struct {
	// base and tile are the tokens of an image and of each of its tiles. tile is 0 for a model
	// that uses patches.
	base, tile float64
	// factor multiplies the patches, of which there are at most most. With detail original, or
	// auto if autoOriginal is set, there are at most original.
	lowFactor, highFactor float64
	most, original        float64
	autoOriginal          bool
	source                string
}

const (
	tileRule  = "OpenAI images guide: tiles of 512 px (2025)"
	patchRule = "OpenAI images guide: patches of 32 px (2025)"
	newRule   = "OpenAI images guide: patches of 32 px, at most 2,500, or 10,000 in original detail (2026); factor measured, not published"
)

// openAIModels has the rules of the models. The first beginning of a name that matches counts.
var openAIModels = []struct {
	prefix string
	rules  openAI
}{
	{"computer-use-preview", openAI{base: 65, tile: 129, source: tileRule}},
	{"gpt-4.1-mini", patches(1.62)}, {"gpt-4.1-nano", patches(2.46)},
	{"gpt-4o-mini", openAI{base: 2833, tile: 5667, source: tileRule}},
	{"gpt-5-mini", patches(1.62)}, {"gpt-5-nano", patches(2.46)},
	{"gpt-5.1", openAI{base: 70, tile: 140, source: tileRule}},
	{"o4-mini", patches(1.72)},
	{"gpt-5.2", openAI{lowFactor: 1, highFactor: 1.62, most: 1536, original: 1536, source: patchRule + ", factor not published"}},
	{"gpt-5.3", openAI{lowFactor: 1, highFactor: 1.62, most: 1536, original: 1536, source: patchRule + ", factor not published"}},
	{"gpt-5.5", openAI{lowFactor: 1.2, highFactor: 1.2, most: 2500, original: 10_000, autoOriginal: true, source: newRule}},
	{"gpt-5.", openAI{lowFactor: 1, highFactor: 1.2, most: 2500, original: 10_000, autoOriginal: true, source: newRule}},
	{"gpt-6", openAI{lowFactor: 1.2, highFactor: 1.2, most: 2500, original: 20_000, autoOriginal: true, source: newRule}},
	{"gpt-5", openAI{base: 70, tile: 140, source: tileRule}},
	{"o1", openAI{base: 75, tile: 150, source: tileRule}}, {"o3", openAI{base: 75, tile: 150, source: tileRule}},
	{"", openAI{base: 85, tile: 170, source: tileRule}},
}

func patches(factor float64) openAI {
	return openAI{lowFactor: factor, highFactor: factor, most: 1536, original: 1536, source: patchRule}
}

func openAIRules(name string) openAI {
	for _, m := range openAIModels {
		if strings.HasPrefix(name, m.prefix) {
			return m.rules
		}
	}
	return openAI{}
}

func (o openAI) image(p Part) Estimate {
	w, h, known := float64(p.Width), float64(p.Height), p.Width > 0
	if o.tile > 0 {
		switch {
		case p.Detail == "low":
			return interval(o.base, o.base, o.source+", low detail")
		case !known:
			// The largest image has 2048 by 768 pixels, which is 8 tiles.
			return interval(o.base, o.base+8*o.tile, o.source+", size unknown")
		}
		w, h = within(w, h, 2048)
		scale := min(1, 768/min(w, h))
		high := o.base + o.tile*cells(w*scale, h*scale, 512)
		return interval(high, high, o.source)
	}
	most := o.most
	if p.Detail == "original" || o.autoOriginal && (p.Detail == "" || p.Detail == "auto") {
		most = o.original
	}
	switch {
	case !known:
		return interval(1, most*o.highFactor, o.source+", size unknown")
	case p.Detail == "low":
		return interval(1, min(256, cells(w, h, 32))*o.highFactor, o.source+", low detail")
	}
	n := fitCells(w, h, 32, most)
	return interval(n*o.lowFactor, n*o.highFactor, o.source)
}

// fitCells returns the number of squares of an edge that cover an image, which is scaled down until
// there are at most most, as OpenAI documents it.
func fitCells(w, h, edge, most float64) float64 {
	n := cells(w, h, edge)
	if n <= most {
		return n
	}
	scale := math.Sqrt(edge * edge * most / (w * h))
	across, down := w*scale/edge, h*scale/edge
	scale *= min(math.Floor(across)/across, math.Floor(down)/down)
	if scale <= 0 {
		return most
	}
	return min(most, cells(w*scale, h*scale, edge))
}

func (o openAI) document(pages count) Estimate {
	page := o.image(Part{Width: 1024, Height: 1325})
	return Estimate{
		0, bounded(float64(pages.high) * (float64(page.High) + pageText)),
		"OpenAI file inputs guide: the text and an image of each page (2025); text of a page estimated",
	}
}

func (openAI) sound(s span) Estimate {
	return interval(10*s.low, 10*s.high, "OpenAI realtime guide: 10 tokens for each second of the user (2025)")
}

func (openAI) tools(n, tools int) Estimate {
	return interval(0.5*float64(n), float64(n)+16*float64(tools),
		"our estimate: OpenAI writes definitions shorter than JSON and publishes no rule (2025)")
}

// pageText is the largest number of tokens of the text of a page that is usual.
const pageText = 3000

// claude counts images by area. Anthropic published width times height divided by 750, and later
// patches of 28 pixels, which is nearly the same.
type claude struct{ large bool }

const (
	claudeRule = "Anthropic vision guide: width x height / 750 (2025), patches of 28 px (2026)"
	// smallEdge and smallMost bound an image for older models; largeEdge and largeMost for those
	// from Opus 4.7 on. Larger images are scaled down.
	smallEdge, smallMost = 1568, 1600
	largeEdge, largeMost = 2576, 4784
)

// beforeLarge reports whether a model is older than Opus 4.7, so that it sees images at up to 1568
// pixels. A name without a version may be either.
func beforeLarge(name string) bool {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == ':' || r == '@' }) {
		if major, err := strconv.Atoi(part); err == nil && len(part) == 1 {
			if major != 4 {
				return major < 4
			}
			return !strings.Contains(name, "4-7") && !strings.Contains(name, "4-8") && !strings.Contains(name, "4-9")
		}
	}
	return strings.Contains(name, "instant")
}

func (c claude) image(p Part) Estimate {
	edge, most := float64(smallEdge), float64(smallMost)
	if c.large {
		edge, most = largeEdge, largeMost
	}
	if p.Width == 0 {
		return interval(1, most, claudeRule+", size unknown")
	}
	w, h := float64(p.Width), float64(p.Height)
	low, high := c.area(w, h)
	if max(w, h) <= smallEdge && high <= smallMost {
		return interval(low, high, claudeRule)
	}
	// The image may be scaled down. Older models see what remains within smallEdge and
	// smallMost. For newer ones the bounds have changed, so the lowest and the highest apply.
	w1, h1 := within(w, h, smallEdge)
	low, _ = c.area(w1, h1)
	w, h = within(w, h, edge)
	_, high = c.area(w, h)
	return interval(0.9*min(low, smallMost), min(high, most), claudeRule+", scaled down")
}

// area returns the tokens of an image by both rules, the lower first.
func (claude) area(w, h float64) (low, high float64) {
	a, b := w*h/750, cells(w, h, 28)
	return min(a, b), max(a, b)
}

func (c claude) document(pages count) Estimate {
	// A page is sent as an image, and as text of 1,500 to 3,000 tokens.
	image := float64(smallMost)
	if c.large {
		image = largeMost
	}
	return interval(float64(pages.low)*1500, float64(pages.high)*(pageText+image),
		"Anthropic PDF guide: 1,500 to 3,000 tokens for each page, and its image (2025)")
}

func (claude) sound(s span) Estimate { return anyRules{}.sound(s) }

func (claude) tools(n, _ int) Estimate {
	return interval(float64(n)+159, float64(n)+530, "Anthropic tool use guide: 159 to 530 tokens besides the definitions (2025)")
}

// gemini counts images in tiles up to version 2.5, and with a fixed number from version 3 on.
type gemini struct{ three bool }

func (g gemini) image(p Part) Estimate {
	const tile = 258
	switch {
	case g.three:
		return Estimate{1000, 1120, "Gemini media resolution guide: 1,120 tokens at most by default (2026)"}
	case p.Width == 0:
		return Estimate{tile, 16 * tile, "Gemini token guide: 258 for each tile (2025), size unknown"}
	case p.Width <= 384 && p.Height <= 384:
		return Estimate{tile, tile, "Gemini token guide: 258 up to 384 px (2025)"}
	}
	w, h := float64(p.Width), float64(p.Height)
	// The guides of Google's two services publish different sizes of a tile.
	unit := max(256, min(768, math.Floor(min(w, h)/1.5)))
	return interval(tile*cells(w, h, 768), tile*cells(w, h, unit), "Gemini token guide: 258 for each tile of up to 768 px (2025)")
}

func (g gemini) document(pages count) Estimate {
	if g.three {
		// The text of a page is not counted. A request may ask for the resolution of images.
		return interval(258*float64(pages.low), 1120*float64(pages.high), "Gemini media resolution guide: 560 for each page, 1,120 in high resolution (2026)")
	}
	return interval(258*float64(pages.low), 258*float64(pages.high), "Gemini document guide: 258 for each page (2025)")
}

func (gemini) sound(s span) Estimate {
	return interval(32*s.low, 32*s.high, "Gemini token guide: 32 for each second (2025)")
}

func (gemini) tools(n, _ int) Estimate {
	return interval(0.5*float64(n), 1.1*float64(n), "our estimate: Google publishes no rule for tool definitions")
}

// anyRules is for models without published rules: the bounds of the known ones.
type anyRules struct{}

const anySource = "the bounds of the rules of OpenAI, Anthropic and Google: no rule of this model is known"

// all returns the bounds of estimates.
func all(list ...Estimate) Estimate {
	out := list[0]
	for _, e := range list[1:] {
		out.Low, out.High = min(out.Low, e.Low), max(out.High, e.High)
	}
	out.Source = anySource
	return out
}

func (anyRules) image(p Part) Estimate {
	return all(openAIRules("gpt-4o").image(p), openAIRules("gpt-5.5").image(p), claude{true}.image(p), gemini{}.image(p), gemini{true}.image(p))
}

func (anyRules) document(n count) Estimate {
	return all(openAIRules("gpt-4o").document(n), claude{true}.document(n), gemini{}.document(n), gemini{true}.document(n))
}

func (anyRules) sound(s span) Estimate { return all(openAI{}.sound(s), gemini{}.sound(s)) }

func (anyRules) tools(n, tools int) Estimate {
	return all(openAI{}.tools(n, tools), claude{}.tools(n, tools), gemini{}.tools(n, tools))
}
