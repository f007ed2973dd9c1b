// Package document has what parsers make of files, and the limits that they keep.
package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Kind says what a block is.
type Kind uint8

// The kinds of blocks.
const (
	// Text is a paragraph, a list or a quotation.
	Text Kind = iota
	// Heading begins a section.
	Heading
	// Table is kept whole where that is possible. Its first lines are its header.
	Table
	// Rows are the records of a list without end, one a line. It may be cut between lines,
	// and every part gets the header.
	Rows
	// Code is source code, or what a document shows as such.
	Code
)

// Block is a piece of a document.
type Block struct {
	Kind Kind
	// Level is the level of a heading, 1 to 9.
	Level int
	// Text has no blank lines around it.
	Text string
	// Header is the number of lines of Text, from the first, that are the header of a table.
	Header int
	// Lines are those of the block in the source. Zero if the format has no lines.
	Lines retrieve.Lines
	// Exact says that every line of Text is one line of the source, so that a part of the
	// block has lines too.
	Exact bool
	// Page is the number of the page on which the block begins, from 1. 0 means none.
	Page int
}

// Document is what a parser finds in a file, or in one record of a file.
type Document struct {
	// Record names the record within its file. Empty means that the file is one document.
	Record string
	// Title may be empty.
	Title string
	// Time is the time that the content states. It may be zero.
	Time time.Time
	// Meta has further values by name.
	Meta map[string]string
	// Code says that the document is source code.
	Code bool
	// Warnings say what of the document may be read wrong, as texts for the user.
	Warnings []string
	Blocks   []Block
}

// Value takes a named value as the title, the time or a value for filters.
func (d *Document) Value(name string, v any) {
	var text string
	switch v := v.(type) {
	case time.Time:
		text = v.UTC().Format(time.RFC3339)
	case string, bool, int, int64, uint64, float64:
		text = fmt.Sprint(v)
	case []any:
		parts := make([]string, 0, len(v))
		for _, p := range v {
			switch p.(type) {
			case string, bool, int, int64, uint64, float64:
				parts = append(parts, fmt.Sprint(p))
			}
		}
		text = strings.Join(parts, ", ")
	}
	if text == "" || len(text) > MaxMeta || len(name) > 64 || len(d.Meta) >= 64 {
		return
	}
	switch strings.ToLower(name) {
	case "title":
		d.Title = text
		return
	case "date", "time", "updated", "timestamp":
		for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime} {
			if t, err := time.Parse(layout, text); err == nil {
				d.Time = t.UTC().Truncate(time.Second)
				return
			}
		}
	}
	if d.Meta == nil {
		d.Meta = map[string]string{}
	}
	d.Meta[name] = text
}

// Line returns the line of a text that begins at a position, without its end, and where the next begins.
func Line(text string, at int) (line string, next int) {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return text[at : at+i], at + i + 1
	}
	return text[at:], len(text)
}

// MaxMeta is the longest value in bytes.
const MaxMeta = 1024

// Errors of parsers, for errors.Is. Their text has the remedy.
var (
	// ErrBinary means that the content is not text.
	ErrBinary = errors.New("not a text file (leave it out, or convert it to text)")
	// ErrEncrypted means that the content needs a password.
	ErrEncrypted = errors.New("encrypted (save a copy without a password, and ingest that)")
	// ErrDamaged means that the content is not what its format demands.
	ErrDamaged = errors.New("damaged or cut off (save or download it again)")
	// ErrTooLarge means that the content exceeds a limit.
	ErrTooLarge = errors.New("too large (split it, or raise the limit)")
	// ErrNoText means that a document has no text, such as a scan.
	ErrNoText = errors.New("no text in it (a scan needs OCR first)")
)

// Limits bound what a parser does. The zero value has the defaults.
type Limits struct {
	// Text is the largest text of one document in bytes. 0 means 32 MiB.
	Text int
	// Time is how long one file may take while the process has a processor. 0 means 60 seconds.
	Time time.Duration
	// Memory is what one file may hold at most in bytes, however large it is. 0 means no such limit.
	Memory int
}

// The defaults of [Limits].
const (
	DefaultText = 32 << 20
	DefaultTime = time.Minute
)

// Complete returns the limits with their defaults.
func (l Limits) Complete() Limits {
	l.Text, l.Time = cmp.Or(max(l.Text, 0), DefaultText), cmp.Or(max(l.Time, 0), DefaultTime)
	return l
}

// What a file may cost, for each of its bytes and besides.
const (
	leastMemory, memoryPerByte = 32 << 20, 64
	leastLargeMemory           = 128 << 20
	leastWork                  = 128 << 20
	// MemoryPerLargeByte is what each byte of a large file adds to its memory, in bytes.
	MemoryPerLargeByte = 6
	// WorkPerByte is what each byte adds to the work, in the units of a meter.
	WorkPerByte = 512
)

// Meter begins the account of a file of some bytes, which already holds them. A small file may hold
// 32 MiB and 64 times its bytes, a large one 128 MiB and six times its bytes. The work takes about a
// second, and some for each MB, and decides which files are refused, so that no busy machine does. The
// time of the limits is only there in case a mistake leaves work uncounted.
func (l Limits) Meter(ctx context.Context, size int) *meter.Meter {
	memory := min(leastMemory+memoryPerByte*size, leastLargeMemory+MemoryPerLargeByte*size)
	if l.Memory > 0 {
		memory = min(memory, l.Memory)
	}
	m := meter.New(ctx, meter.Budget{
		Memory: memory,
		Work:   leastWork + WorkPerByte*size,
		Time:   l.Complete().Time,
	})
	m.Take(size)
	return m
}

// StreamMeter begins the account of a file that is read record by record. It grows with what is read,
// and knows no time.
func StreamMeter(ctx context.Context) *meter.Meter {
	return meter.New(ctx, meter.Budget{Memory: leastLargeMemory, Work: leastWork})
}

// Job is the work on one file.
type Job struct {
	// Meter pays for all.
	Meter *meter.Meter
	// Limits are complete.
	Limits Limits
}

// Add adds a block to a document, whose text is memory of its own or a part of what is there.
func (j *Job) Add(d *Document, b Block) { d.Blocks = meter.Append(j.Meter, d.Blocks, b) }

// BoldLevel is the level of a heading that is only a bold paragraph: the lowest.
const BoldLevel = 6

// longestTitle is the longest text, in bytes, of a bold paragraph that is a heading.
const longestTitle = 100

// Titled reports whether a paragraph reads like a heading if all of it is bold: a short line that is no sentence.
func Titled(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && len(text) <= longestTitle && !strings.ContainsAny(text, "\n|") && !strings.ContainsAny(text[len(text)-1:], ".!,;") && !strings.HasPrefix(text, "- ") &&
		strings.ContainsFunc(text, unicode.IsLetter)
}
