package authoring

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Card is the measured cost of calls of one operation of a plugin.
type Card struct {
	Plugin    string        `json:"plugin"`
	Version   string        `json:"version"`
	Digest    string        `json:"digest"`
	Size      int64         `json:"size"`
	Operation abi.Operation `json:"operation"`
	// Input is "generated" or the name of a file. Items is the number of items, turns,
	// messages or texts in it.
	Input string `json:"input"`
	Items int    `json:"items"`
	// State is what happens to an instance between calls.
	State host.State `json:"state"`
	// Platform is operating system and processor, such as linux/amd64.
	Platform string `json:"platform"`
	Rows     []Cost `json:"rows"`
}

// Cost is the cost of a call in one lane.
type Cost struct {
	Lane host.Lane `json:"lane"`
	// Calls is the number of measured calls.
	Calls int `json:"calls"`
	// P50 and P95 are percentiles of the time of a call in microseconds, including writing
	// the request and reading the answer, as in a step.
	P50 float64 `json:"p50_us"`
	P95 float64 `json:"p95_us"`
	// Fuel is the median of the fuel of a call.
	Fuel int64 `json:"fuel"`
	// Memory is the largest linear memory after a call, in bytes.
	Memory int64 `json:"memory_bytes"`
	// In and Out are the sizes of request and answer in bytes.
	In  int64 `json:"bytes_in"`
	Out int64 `json:"bytes_out"`
	// Tokens is the number of tokens that the answer adds, minus those of the text that
	// it replaces, counted in cl100k_base.
	Tokens int `json:"tokens_added"`
}

// MeasureOptions say what to measure.
type MeasureOptions struct {
	Operation abi.Operation
	Lane      host.Lane
	// Request is a result of [Request] or [ReadRequest].
	Request any
	// Duration is how long to call. At least ten calls are made. 0 means one second.
	Duration time.Duration
	// Tokens counts the added tokens; nil counts none.
	Tokens pipeline.Tokenizer
}

// leastCalls is the number of calls to make, however long they take.
const leastCalls = 10

// Measure calls an operation in one lane. It ignores the first calls. The error is that of
// the first call that fails.
func Measure(ctx context.Context, p *host.Plugin, o MeasureOptions) (Cost, error) {
	m := measurement{MeasureOptions: o, plugin: p}
	if o.Duration == 0 {
		m.Duration = time.Second
	}
	if err := m.run(ctx); err != nil {
		return Cost{}, err
	}
	slices.Sort(m.times)
	slices.Sort(m.fuel)
	cost := Cost{
		Lane: o.Lane, Calls: len(m.times), P50: micros(m.times[len(m.times)/2]), P95: micros(m.times[len(m.times)*95/100]),
		Fuel: m.fuel[len(m.fuel)/2], Memory: m.memory, In: int64(len(m.request)), Out: int64(len(m.answer)),
	}
	if o.Tokens == nil {
		return cost, nil
	}
	added, replaced, err := texts(o.Request, m.reply)
	if err != nil {
		return cost, err
	}
	counts, err := o.Tokens.Count(ctx, slices.Concat(added, replaced)...)
	if err != nil {
		return cost, err
	}
	for i, n := range counts {
		if i >= len(added) {
			n = -n
		}
		cost.Tokens += n
	}
	return cost, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// measurement is the state of one Measure.
type measurement struct {
	MeasureOptions
	plugin *host.Plugin
	writer abi.BatchWriter
	// request and answer are the bytes of the last call, and reply is the decoded answer.
	request, answer []byte
	reply           any
	times           []time.Duration
	fuel            []int64
	memory          int64
}

// run makes calls for a tenth of the time without measuring, then for all of it.
func (m *measurement) run(ctx context.Context) error {
	for warm := time.Now(); ; {
		if _, err := m.call(ctx); err != nil {
			return err
		}
		if time.Since(warm) > m.Duration/10 {
			break
		}
	}
	for began := time.Now(); len(m.times) < leastCalls || time.Since(began) < m.Duration; {
		start := time.Now()
		x, err := m.call(ctx)
		if err != nil {
			return err
		}
		m.times = append(m.times, time.Since(start))
		m.fuel, m.memory = append(m.fuel, x.Fuel), max(m.memory, x.Memory)
	}
	return nil
}

// call makes one call with all the work that a step does for it.
func (m *measurement) call(ctx context.Context) (*host.Exchange, error) {
	var err error
	if m.request, err = m.encode(m.request[:0]); err != nil {
		return nil, err
	}
	x, err := m.plugin.Exchange(ctx, m.Operation, m.Lane, m.request)
	if err != nil {
		return nil, err
	}
	m.answer, m.reply = x.Output, nil
	if x.Status == abi.StatusDone && len(x.Output) > 0 {
		m.reply, err = m.decode(x.Output)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, lane %s: answer: %w", m.Operation, m.Lane, err)
	}
	return x, nil
}

// encode encodes the request for the lane.
func (m *measurement) encode(buf []byte) ([]byte, error) {
	spec, _ := m.plugin.Spec().Operation(m.Operation) // the call says when it is not there
	r, ok := m.Request.(*abi.ItemsRequest)
	if !ok {
		request, err := spec.Parts.Request(m.Operation, m.Request)
		if err != nil {
			return nil, err
		}
		return json.Marshal(request)
	}
	var rows abi.Rows
	if r.Items != nil {
		rows = abi.ItemRows(r.Items)
	}
	query := *spec.Parts.Query(&r.Query)
	if spec.Parts.Whole() { // for which no vector is made
		query.Embedding = nil
	}
	env := abi.Envelope{Query: &query, TopK: r.TopK, TokensLeft: r.TokensLeft, Settings: r.Settings}
	if m.Lane == host.LaneJSON {
		return abi.AppendItemsRequest(buf, rows, spec.Reads, &env)
	}
	size, err := m.writer.Plan(rows, spec.Reads, &env)
	if err != nil {
		return nil, err
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	return buf[:size], m.writer.Write(buf[:size])
}

// decode decodes an answer as the host does.
func (m *measurement) decode(answer []byte) (any, error) {
	if m.Lane == host.LaneBatch {
		return abi.DecodeChanges(answer)
	}
	info, _ := abi.LookupOperation(m.Operation)
	reply := abi.NewDocument(info.Reply)
	switch reply.(type) {
	case nil:
		return nil, nil
	case *abi.Changes:
		return abi.DecodeChangesJSON(answer)
	}
	return reply, abi.DecodeReply(answer, reply)
}

// texts returns the texts that an answer adds, and the texts of the request that it
// replaces.
func texts(request, reply any) (added, replaced []string, err error) {
	switch reply := reply.(type) {
	case *abi.Changes:
		for _, item := range reply.Items {
			added = append(added, item.Content)
		}
		r, ok := request.(*abi.ItemsRequest)
		for _, e := range reply.Edits {
			if e.Content == nil {
				continue
			}
			if !ok || int(e.Row) >= len(r.Items) {
				return nil, nil, fmt.Errorf("answer: row %d: there is none (a host refuses the answer)", e.Row)
			}
			added, replaced = append(added, *e.Content), append(replaced, r.Items[e.Row].Content)
		}
	case *abi.MemoryReply:
		for _, item := range reply.Items {
			added = append(added, item.Content)
		}
	case *abi.CompactReply:
		added = append(added, reply.Summary)
	case *abi.DistillReply:
		added = append(append(added, reply.Replace...), reply.Add...)
		if reply.Reflection != nil {
			added = append(added, *reply.Reflection)
		}
	case *abi.ExtractReply:
		for _, f := range reply.Add {
			added = append(added, f.Content)
		}
		for _, f := range reply.Update {
			added = append(added, f.Content)
		}
	case *abi.EnrichReply:
		added = append(added, reply.QueryText)
		if r, ok := request.(*abi.ItemsRequest); ok {
			replaced = append(replaced, r.Query.Text)
		}
	case *abi.ProvideReply:
		r, ok := request.(*abi.ProvideRequest)
		if !ok || reply.Messages == nil {
			break
		}
		for _, m := range reply.Messages {
			added = append(added, m.Content)
		}
		for _, m := range r.Messages {
			replaced = append(replaced, m.Content)
		}
	}
	return added, replaced, nil
}
