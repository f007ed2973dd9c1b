package frames

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
)

// batch is the pushes that one append makes durable. The push that opens it writes
// it; those that join wait.
type batch struct {
	records []Record
	written sync.WaitGroup
	err     error
}

// Push appends a frame to the log and to the window, evicts under the limits, and
// returns the id it assigned. The id belongs to the frame even if its own push
// evicts it. A frame without a time is dated now. When the log fails the frame is
// not in the window, and its id is not used again, because what a failing log has
// kept is unknown.
//
// Push looks at ctx only before it begins: a push that waits for the log cannot be
// taken back.
func (p *Pipeline) Push(ctx context.Context, f Frame) (id uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if f.CreatedAt.IsZero() {
		f.CreatedAt = p.now()
	}
	f.ID = 0
	if err := f.clean(); err != nil {
		return 0, err
	}
	b, opened, id, err := p.enlist(f)
	if err != nil {
		return 0, err
	}
	if opened {
		p.write(context.WithoutCancel(ctx), b)
	} else {
		b.written.Wait()
	}
	if b.err != nil {
		return 0, fmt.Errorf("frame %d: append: %w", id, b.err)
	}
	return id, nil
}

// enlist gives the frame its id and a place in the pending batch.
func (p *Pipeline) enlist(f Frame) (b *batch, opened bool, id uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next > MaxFrameID {
		return nil, false, 0, fmt.Errorf("frame: ids are used up: %w (begin a new pipeline)", pipeline.ErrInvalid)
	}
	if p.pending == nil {
		p.pending, opened = new(batch), true
		p.pending.written.Add(1)
	}
	b, id = p.pending, p.next
	f.ID = id
	p.next++
	b.records = append(b.records, Record{Frame: f, Limits: p.limits})
	return b, opened, id, nil
}

// write closes the batch, appends it and shows its frames. Batches are written in
// the order in which they were opened: the next one can only be opened when this one
// is closed, which happens while writing is held.
func (p *Pipeline) write(ctx context.Context, b *batch) {
	p.writing.Lock()
	defer p.writing.Unlock()
	defer b.written.Done()
	p.mu.Lock()
	p.pending = nil
	p.mu.Unlock()
	if b.err = p.appendGuarded(ctx, b.records); b.err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range b.records {
		r := &b.records[i]
		p.view.push(&r.Frame, r.Limits)
	}
	p.header.Checksum = ""
}

// appendGuarded turns a panic of a log into an error, because others wait for this
// append.
func (p *Pipeline) appendGuarded(ctx context.Context, records []Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("log: %w: %v\n%s", pipeline.ErrPanic, v, debug.Stack())
		}
	}()
	return p.log.Append(ctx, records)
}
