package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/migrate"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// MaxBytes is the maximum size of a request. The largest batch of items that a plugin may receive
// fits into it, even with JSON escapes.
const MaxBytes = 64 << 20

// Request is a whole build.
type Request struct {
	Query Query `key:"query,required"`
	// Pipeline is a named pipeline of the configuration. The request overrides its settings. Empty: the
	// top level of the configuration.
	Pipeline      string               `key:"pipeline"`
	Window        config.Window        `key:"window"`
	Counting      Counting             `key:"counting"`
	Conversation  []config.Turn        `key:"conversation" max:"20000"`
	Items         []Item               `key:"items" max:"20000"`
	Steps         []config.Step        `key:"steps" max:"1000"`
	Format        config.Choice        `key:"format"`
	FormatOptions config.FormatOptions `key:"format_options"`
	// AllowPartial leaves out optional steps rather than missing the deadline.
	AllowPartial bool `key:"allow_partial"`
	// Explain asks for a trace of every item.
	Explain bool `key:"explain"`
}

// Counting says how tokens are counted. A request names no file.
type Counting struct {
	Model     string        `key:"model"`
	Tokenizer config.Choice `key:"tokenizer"`
}

// Query is the query: a string, or an object with text, metadata and other fields.
type Query struct{ Query pipeline.Query }

// queryObject is the object form of a query.
type queryObject struct {
	Text        string         `key:"query_str,required"`
	Metadata    map[string]any `key:"metadata"`
	ChatHistory []turn         `key:"chat_history" max:"20000"`
	Embedding   []float32      `key:"embedding"`
}

type turn struct {
	Role       string         `key:"role,required" enum:"user,assistant,system,tool"`
	Content    string         `key:"content,required"`
	TokenCount int            `key:"token_count" min:"0"`
	CreatedAt  time.Time      `key:"created_at"`
	Metadata   map[string]any `key:"metadata"`
}

// UnmarshalNode decodes either form.
func (q *Query) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.Map {
		d.Value(n, reflect.ValueOf(&q.Query.Text).Elem(), path)
		return
	}
	var o queryObject
	d.Value(n, reflect.ValueOf(&o).Elem(), path)
	q.Query = pipeline.Query{Text: o.Text, Metadata: o.Metadata, Embedding: o.Embedding}
	for _, t := range o.ChatHistory {
		q.Query.ChatHistory = append(q.Query.ChatHistory, pipeline.Turn{
			Role: pipeline.Role(t.Role), Content: t.Content, TokenCount: t.TokenCount,
			CreatedAt: t.CreatedAt, Metadata: t.Metadata,
		})
	}
}

// Item is one given item. Absent fields have defaults: priority 5 for every source, score 0, and
// the time of the build. An absent id is derived from the content ([core.ContentID]), so that
// builds are repeatable. A given id or time is kept unchanged.
type Item struct {
	ID         *string        `key:"id"`
	Content    string         `key:"content,required"`
	Source     string         `key:"source,required" enum:"retrieval,memory,system,user,tool,conversation"`
	Score      float64        `key:"score" min:"0" max:"1"`
	Priority   int            `key:"priority" min:"1" max:"10"`
	TokenCount int            `key:"token_count" min:"0"`
	Metadata   map[string]any `key:"metadata"`
	CreatedAt  *time.Time     `key:"created_at"`
	Parts      parts          `key:"parts" doc:"Images, documents and sounds that go into the window with the text, as an API has them, such as {type: image_url, image_url: {url}}."`
}

// parts are the contents of an item that are not text.
type parts []message.Part

// UnmarshalNode decodes a list of parts.
func (p *parts) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	data, err := n.JSON()
	if err == nil {
		*p, err = message.DecodeParts(data)
	}
	if err == nil {
		err = new(pipeline.Item).SetParts(*p)
	}
	if err != nil {
		at, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), "parts"), ": ")
		d.Fail(n, path+at, "%s", text)
	}
}

// JSONSchema describes a list of objects.
func (*parts) JSONSchema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "object"}}
}

// stated converts a given time to one that is not the zero value, because the zero value means
// that there is no time.
func stated(t time.Time) time.Time {
	if t.IsZero() {
		return t.In(time.FixedZone("UTC", 0))
	}
	return t
}

// Convert converts items to those of the pipeline. It returns nil for nil, because an empty list
// differs from no list.
func Convert(items []Item) []pipeline.Item {
	if items == nil {
		return nil
	}
	converted := make([]pipeline.Item, len(items))
	for i, it := range items {
		converted[i] = pipeline.Item{
			Content: it.Content, Source: pipeline.Source(it.Source), Score: it.Score,
			Priority: cmp.Or(it.Priority, pipeline.DefaultItemPriority), TokenCount: it.TokenCount, Metadata: it.Metadata,
		}
		if it.ID != nil {
			converted[i].ID = *it.ID
		} else {
			converted[i].ID = core.ContentID(it.Content)
		}
		if it.CreatedAt != nil {
			converted[i].CreatedAt = stated(*it.CreatedAt)
		}
		_ = converted[i].SetParts(it.Parts) // they were checked when they were read
	}
	return converted
}

// SharesPlugins reports whether a request calls only plugins that its pipeline calls.
func (r *Request) SharesPlugins() bool {
	return r.Steps == nil && r.Counting.Tokenizer.Use == nil && r.Format.Use == nil
}

// Read reads one request. Steps may refer to the instances, the pipelines and the plugin folder
// of base. A request that names no pipeline starts from the top level of base, whatever other
// pipelines there are. name appears in errors. The error is a [strict.Problems] if the document is
// at fault.
//
// A document with more values than server.max_values of base is a [strict.ErrTooMany]. Reading ends with
// the error of ctx. data must not change as long as the request is used.
func Read(ctx context.Context, name string, data []byte, base *config.Loaded) (*Request, *config.Config, error) {
	var req Request
	n, err := decode(ctx, name, data, base.Server.WithDefaults().MaxValues, &req)
	if err != nil {
		return nil, nil, err
	}
	named, err := base.Pipeline(req.Pipeline)
	if err != nil {
		at, _ := n.Find("pipeline")
		return nil, nil, strict.Problems{{File: name, Pos: at.Pos, Path: "pipeline", Message: strings.TrimPrefix(err.Error(), config.ErrInvalid.Error()+": ")}}
	}
	c := req.over(*named)
	var findings []config.Finding
	if req.Counting.Tokenizer.File != "" {
		findings = append(findings, config.Finding{Path: "counting.tokenizer", Message: "a request cannot name a file (name it in anchor.yaml, or with --set)"})
	}
	for _, f := range c.Check() {
		if at, _ := n.Find(f.Path); at != n {
			findings = append(findings, f)
		}
	}
	if err := cmp.Or(ctx.Err(), config.Place(name, n, findings).Err()); err != nil {
		return nil, nil, err
	}
	return &req, c, nil
}

// over returns the configuration c of a named pipeline with the settings of the request.
func (r *Request) over(c config.Config) *config.Config {
	c.Take(&r.Window)
	switch of := &r.Counting; {
	case of.Model != "":
		c.Model, c.Tokenizer = of.Model, of.Tokenizer
	case of.Tokenizer != config.Choice{}:
		c.Model, c.Calibration, c.Tokenizer = "", "", of.Tokenizer
	}
	c.Format, c.FormatOptions = cmp.Or(r.Format, c.Format), cmp.Or(r.FormatOptions, c.FormatOptions)
	if r.Steps != nil {
		c.Steps = r.Steps
	}
	if r.Conversation != nil {
		c.Talk("", r.Conversation)
	}
	return &c
}

// ReadItems reads a JSON list of items, or an object with the key items.
func ReadItems(name string, r io.Reader) ([]Item, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := checkSize(name, data); err != nil {
		return nil, err
	}
	n, err := strict.ParseJSON(name, data)
	if err != nil {
		return nil, err
	}
	if n.Kind == strict.List {
		n = strict.NewMap(n.Pos, strict.Entry{Key: "items", Pos: n.Pos, Value: *n})
	}
	var doc struct {
		Items []Item `key:"items,required"`
	}
	if err := strict.Decode(name, n, &doc); err != nil {
		return nil, err
	}
	return doc.Items, nil
}

// TooMany is what helps against too many values in a request.
const TooMany = "send fewer, or raise server.max_values"

// decode reads a document of at most MaxBytes and of most values into a struct.
func decode(ctx context.Context, name string, data []byte, most int, into any) (*strict.Node, error) {
	if err := checkSize(name, data); err != nil {
		return nil, err
	}
	n, err := strict.ParseJSONContext(ctx, name, data, strict.Limits{Values: most, Remedy: TooMany})
	if err != nil {
		return nil, err
	}
	return n, former(strict.DecodeContext(ctx, name, n, into))
}

// former says of each former key of a file, where a request states it, which key there is now.
func former(err error) error {
	var problems strict.Problems
	if errors.As(err, &problems) {
		for i := range problems {
			p := &problems[i]
			if to, ok := migrate.Moved(p.Path); ok && to != "" && strings.HasPrefix(p.Message, "unknown key") {
				p.Message = "unknown key (it is " + to + " now)"
			}
		}
	}
	return err
}

func checkSize(name string, data []byte) error {
	if len(data) > MaxBytes {
		return fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, name, MaxBytes>>20)
	}
	return nil
}
