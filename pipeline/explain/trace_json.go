package explain

import (
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/appendjson"
)

// MarshalJSON writes the list of traces.
func (t *Trace) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil) }

// AppendJSON appends what MarshalJSON returns.
func (t *Trace) AppendJSON(dst []byte) ([]byte, error) {
	b := appendjson.Buffer{B: dst}
	appendjson.List(&b, t.All(), writeItem)
	return b.B, b.Err
}

func writeItem(b *appendjson.Buffer, t *ItemTrace) {
	b.Begin()
	b.Key("id")
	b.Text(t.ID)
	b.Key("source")
	b.Text(string(t.Source))
	b.Key("priority")
	b.Int(int64(t.Priority))
	b.Key("score")
	b.Float(t.Score)
	b.Key("tokens")
	b.Int(int64(t.Tokens))
	b.Key("excerpt")
	b.Text(t.Excerpt)
	b.Key("fate")
	b.Text(string(t.Outcome))
	b.Key("events")
	if t.Events == nil {
		b.Other(nil)
	} else {
		appendjson.List(b, t.Events, writeEvent)
	}
	b.End()
}

func writeEvent(b *appendjson.Buffer, e *Event) {
	b.Begin()
	b.Key("stage")
	b.Text(e.Stage)
	b.SomeText("step", e.Step)
	b.SomeText("plugin", e.Plugin)
	b.SomeText("module", e.Module)
	b.Key("did")
	names := e.Actions.Names()
	appendjson.List(b, names, func(b *appendjson.Buffer, name *string) { b.Text(*name) })
	writeChange(b, "place", e.Place, writeInt)
	writeChange(b, "score", e.Score, (*appendjson.Buffer).Float)
	writeChange(b, "priority", e.Priority, writeInt)
	writeChange(b, "tokens", e.Tokens, writeInt)
	writeChange(b, "bytes", e.Bytes, writeInt)
	writeChange(b, "source", e.Source, func(b *appendjson.Buffer, s core.Source) { b.Text(string(s)) })
	if e.Budget != nil {
		b.Key("budget")
		writeBudget(b, e.Budget)
	}
	b.End()
}

func writeInt(b *appendjson.Buffer, n int) { b.Int(int64(n)) }

// writeChange writes a member with a change, unless it is nil.
func writeChange[T any](b *appendjson.Buffer, name string, c *Change[T], one func(*appendjson.Buffer, T)) {
	if c == nil {
		return
	}
	b.Key(name)
	b.Begin()
	b.Key("from")
	one(b, c.From)
	b.Key("to")
	one(b, c.To)
	b.End()
}

func writeBudget(b *appendjson.Buffer, c *BudgetCheck) {
	b.Begin()
	b.Key("kind")
	b.Text(string(c.Kind))
	b.Key("limit")
	b.Int(int64(c.Limit))
	b.Key("available")
	b.Int(int64(c.Available))
	b.Key("needed")
	b.Int(int64(c.Needed))
	b.SomeInt("lacked", int64(c.Lacked))
	if len(c.DisplacedBy) > 0 {
		b.Key("displaced_by")
		appendjson.List(b, c.DisplacedBy, func(b *appendjson.Buffer, name *string) { b.Text(*name) })
	}
	b.End()
}
