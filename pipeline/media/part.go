package media

import (
	"bytes"
	"encoding/base64"
	"io"
	"math"
	"strings"
)

// Kind says what a part of a message is.
type Kind string

// The kinds of parts that Count knows.
const (
	Image    Kind = "image"
	Document Kind = "document"
	Audio    Kind = "audio"
)

// Part is a part of a message that is not text. Give its content as Data or Bytes, or what is
// known of it; the zero value of a field means that it is not known.
type Part struct {
	Kind Kind
	// MediaType is the type of the content, such as image/png. It may be empty.
	MediaType string
	// Data is the content in base64, also as a data URL. Only its beginning is decoded.
	Data string
	// Bytes is the content. It takes precedence over Data.
	Bytes []byte
	// Width and Height are the size of an image in pixels.
	Width, Height int
	// Pages is the number of pages of a document.
	Pages int
	// Seconds is the length of a sound.
	Seconds float64
	// Detail is low, high, auto or original, for images of OpenAI. Empty means auto.
	Detail string
}

// Estimate is a number of tokens between two bounds.
type Estimate struct {
	// Low and High bound the number. They are equal when it is known.
	Low, High int
	// Source names the rule, with the year of its publication.
	Source string
}

// Exact reports whether the number is known.
func (e Estimate) Exact() bool { return e.Low == e.High }

// Add returns the sum of two estimates, without the source of the second.
func (e Estimate) Add(o Estimate) Estimate {
	e.Low, e.High = sum(e.Low, o.Low), sum(e.High, o.High)
	return e
}

func sum(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// maxTokens bounds an estimate, so that sums of estimates stay numbers.
const maxTokens = 1 << 30

// bounded returns n as a number of tokens.
func bounded(n float64) int {
	if !(n > 0) {
		return 0
	}
	return int(math.Ceil(min(n, maxTokens) - 1e-6))
}

// validSize reports whether a size is one that an image can have.
func validSize(width, height int) bool {
	return width > 0 && height > 0 && width <= maxEdge && height <= maxEdge
}

// maxEdge is the largest edge of an image that is believed, in pixels.
const maxEdge = 1 << 20

// size returns the length of the content in bytes.
func (p *Part) size() int {
	if p.Bytes != nil {
		return len(p.Bytes)
	}
	return base64.StdEncoding.DecodedLen(len(p.encoded()))
}

// encoded returns the base64 text without what a data URL has in front.
func (p *Part) encoded() string {
	if strings.HasPrefix(p.Data, "data:") {
		if i := strings.IndexByte(p.Data[:min(len(p.Data), maxDataURL)], ','); i >= 0 {
			return p.Data[i+1:]
		}
	}
	return p.Data
}

// maxDataURL is the largest length in bytes of the head of a data URL.
const maxDataURL = 1 << 10

// content returns a reader of the first bytes of the content.
func (p *Part) content(most int64) io.Reader {
	if p.Bytes != nil {
		return io.LimitReader(bytes.NewReader(p.Bytes), most)
	}
	return io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(p.encoded())), most)
}
