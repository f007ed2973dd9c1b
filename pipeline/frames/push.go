package frames

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Push appends a frame to the log and to the window, evicts frames that exceed the limits,
// and returns the id of the new frame. The id belongs to the frame even if its own push
// evicts it. A frame without a time is dated now.
//
// If the log fails, the frame may be in it all the same. The next push reads the log. If
// the frame is there, the window shows it from then on; if not, its id was not assigned.
//
// Push checks ctx only before it begins, because a push that waits for the log cannot be
// undone.
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
	b, place := p.enlist(f)
	if place == 0 {
		p.write(context.WithoutCancel(ctx), b)
	} else {
		b.written.Wait()
	}
	if b.err != nil {
		return 0, fmt.Errorf("frame: append: %w", b.err)
	}
	return b.records[place].ID, nil
}

// enlist adds the frame to the pending batch. The first frame opens the batch.
func (p *Pipeline) enlist(f Frame) (b *batch, place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = new(batch)
		p.pending.written.Add(1)
	}
	b = p.pending
	b.records = append(b.records, Record{Frame: f, Limits: p.limits})
	return b, len(b.records) - 1
}

// write closes the batch, appends it and shows its frames. Batches are written in the order
// in which they were opened. The next batch can only be opened after this one is closed,
// and a batch is closed while writing is held.
func (p *Pipeline) write(ctx context.Context, b *batch) {
	p.writing.Lock()
	defer p.writing.Unlock()
	defer b.written.Done()
	p.mu.Lock()
	p.pending = nil
	p.mu.Unlock()
	b.err = guard(func() error {
		if err := p.settle(ctx); err != nil {
			return err
		}
		if err := p.number(b.records); err != nil {
			return err
		}
		p.doubtful = true
		return p.log.Append(ctx, b.records)
	})
	if b.err == nil {
		p.doubtful = false
		p.show(b.records)
	}
}

// settle finds out what a failed append has left in the log.
func (p *Pipeline) settle(ctx context.Context) error {
	if !p.doubtful {
		return nil
	}
	if err := p.replay(ctx); err != nil {
		return err
	}
	p.doubtful = false
	return nil
}

// number assigns the next ids.
func (p *Pipeline) number(records []Record) error {
	next := p.NextFrameID()
	if left := MaxFrameID + 1 - next; uint64(len(records)) > left {
		return fmt.Errorf("ids are used up: %w (begin a new pipeline)", pipeline.ErrInvalid)
	}
	for i := range records {
		records[i].ID = next + uint64(i)
	}
	return nil
}

// show adds records that are in the log to the window.
func (p *Pipeline) show(records []Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range records {
		r := &records[i]
		p.view.push(&r.Frame, r.Limits)
		p.next = r.ID + 1
	}
	p.header.Checksum = ""
}

// replay shows the records that the log has from the next id on.
func (p *Pipeline) replay(ctx context.Context) error {
	for {
		next := p.NextFrameID()
		records, err := p.log.Read(ctx, next, restorePage)
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			r := &records[i]
			if err := r.clean(); err != nil {
				return fmt.Errorf("log: %w", err)
			}
			if r.ID < next {
				return fmt.Errorf("log: frame %d, want %d or higher: %w", r.ID, next, ErrOrder)
			}
			next = r.ID + 1
		}
		p.show(records)
	}
}

// guard turns a panic of a log into an error, because others wait for the append.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("log: %w: %v\n%s", pipeline.ErrPanic, v, debug.Stack())
		}
	}()
	return f()
}
