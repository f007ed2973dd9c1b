package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/compact"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
	"github.com/anchor-host/anchor-host/store"
)

// Flush waits until no compaction of the conversation runs. The error is that of ctx.
func (s *SlidingWindow) Flush(ctx context.Context) error {
	for {
		s.adding.Lock()
		task := s.task
		s.adding.Unlock()
		if task == nil {
			return nil
		}
		if err := task.wait(ctx); err != nil {
			return fmt.Errorf("conversation: wait for the compactor: %w", err)
		}
	}
}

// begin begins a compaction if the conversation needs one, and says why not. adding must be
// held.
func (s *SlidingWindow) begin(ctx context.Context) (*compaction, start) {
	if s.cfg.Compactor == nil || s.task != nil || len(s.past.leaving) == 0 && s.tokens <= s.cfg.HighWater {
		return nil, running
	}
	run, why := s.cfg.Compactions.begin(context.WithoutCancel(ctx), s.cfg.Name, s.cfg.Now())
	if why != begins {
		return nil, why
	}
	r, err := s.choose(s.turns[:newestUnit(s.turns)], s.tokens-s.lowMark())
	if err != nil {
		warn.Log(ctx, s.cfg.Logger, "turns not compacted", err)
	}
	turns := byNumber(s.past.leaving, r.evicted)
	if err != nil || len(turns) == 0 {
		s.cfg.Compactions.end(run, s.cfg.Name, err != nil, s.cfg.Now())
		return nil, rests
	}
	task := &compaction{turns: turns, numbers: make(map[int64]bool, len(turns)), previous: s.past.settled.Text, run: run, done: make(chan struct{})}
	for i := range turns {
		task.numbers[turns[i].Sequence] = true
	}
	if s.cfg.OnCompact != nil {
		task.ended = s.cfg.OnCompact()
	}
	s.task = task
	go s.carryOut(task)
	return task, begins
}

// lowMark returns how many tokens of turns a compaction leaves at most: LowWater, or less if the
// newest turn is larger than the room between the marks, so that another such turn fits.
func (s *SlidingWindow) lowMark() int {
	low, room := s.cfg.LowWater, s.cfg.HighWater-s.cfg.LowWater
	if len(s.turns) == 0 || room == 0 {
		return low
	}
	if newest := s.turns[len(s.turns)-1].TokenCount; newest > room {
		low = max(0, min(low, s.cfg.HighWater-2*newest))
	}
	return low
}

// drop makes the conversation ignore the compaction that runs, if there is one. adding must be
// held.
func (s *SlidingWindow) drop() {
	if s.task != nil {
		s.task.run.cancel()
		s.task = nil
	}
}

// carryOut carries out a compaction. No lock is held while the compactor runs.
func (s *SlidingWindow) carryOut(task *compaction) {
	ctx := context.WithoutCancel(task.run.ctx)
	text, err := s.condense(task)
	gone, err := s.finish(task, text, err)
	if err != nil {
		warn.Log(ctx, s.cfg.Logger, "compactor failed, its turns are condensed later", err, slog.Int("turns", len(task.turns)))
	}
	s.tell(ctx, gone)
	if task.ended != nil {
		defer task.ended() // after the next one has begun
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	cancelled := task.run.ctx.Err() != nil
	s.cfg.Compactions.end(task.run, s.cfg.Name, err != nil, s.cfg.Now())
	if s.task == task {
		s.task = nil
		if !cancelled {
			s.begin(ctx) // turns were added meanwhile
		}
	}
	close(task.done)
}

// condense calls the compactor and bounds its answer.
func (s *SlidingWindow) condense(task *compaction) (string, error) {
	ctx := task.run.ctx
	if s.cfg.CompactTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.CompactTimeout)
		defer cancel()
	}
	answer, err := compact.Call(ctx, s.cfg.Compactor, core.CloneTurns(task.turns), task.previous)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && task.run.ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", s.cfg.CompactTimeout, err)
	}
	if err != nil {
		return "", err
	}
	text, err := s.bounded(task.run.ctx, answer, s.cfg.SummaryTokens)
	if err == nil && len(text) < len(answer) {
		s.cfg.Logger.WarnContext(task.run.ctx, "summary is too long and was cut", "bytes", len(answer), "left", len(text), "summary_tokens", s.cfg.SummaryTokens)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), err
}

// finish makes the answer of the compactor a part of the conversation, and returns the turns
// that left the window with it. After a failure it gives up turns if too many wait.
func (s *SlidingWindow) finish(task *compaction, text string, failure error) (gone []pipeline.Turn, err error) {
	s.adding.Lock()
	defer s.adding.Unlock()
	if s.task != task || task.run.ctx.Err() != nil {
		return nil, nil
	}
	if failure == nil {
		if gone, failure = s.adopt(task, text); failure == nil {
			return gone, nil
		}
	}
	s.task = nil // its turns are no longer in the compactor's hands
	s.settle(task.run.ctx)
	s.task = task
	return nil, failure
}

// adopt replaces the turns of a compaction by their summary. adding must be held.
func (s *SlidingWindow) adopt(task *compaction, text string) (gone []pipeline.Turn, err error) {
	p, kept, tokens := s.past, make([]pipeline.Turn, 0, len(s.turns)), 0
	for i := range s.turns {
		if t := s.turns[i]; task.has(t.Sequence) {
			gone = append(gone, t)
		} else {
			kept, tokens = append(kept, t), tokens+t.TokenCount
		}
	}
	p.leaving = slices.DeleteFunc(slices.Clone(p.leaving), func(t pipeline.Turn) bool { return task.has(t.Sequence) })
	d := p.settled.Digest
	d.Text, d.Listed = text, 0
	if p.late != "" {
		d.Text, d.Listed, p.late = text+"\n"+p.late, len(p.late)+1, ""
	}
	d.Count++
	mark(&d, task.turns, byNumber(p.leaving, kept))
	if p.settled, err = s.countDigest(task.run.ctx, d); err == nil {
		p, err = s.show(task.run.ctx, p)
	}
	if err == nil {
		p, err = s.saveLeft(task.run.ctx, p, task.turns)
	}
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns, s.tokens, s.past = kept, tokens, p
	return gone, nil
}

// settle gives up turns if too many wait for the compactor, and saves the digest. A failure is
// logged: the next compaction tries again. adding must be held.
func (s *SlidingWindow) settle(ctx context.Context) {
	p := s.past
	p.late = ""
	p, err := s.giveUp(ctx, p, s.turns)
	if err == nil && p.settled.Count != s.past.settled.Count {
		p, err = s.saveLeft(ctx, p, missing(s.past.leaving, p.leaving))
	}
	if err != nil && !errors.Is(err, store.ErrReadOnly) {
		warn.Log(ctx, s.cfg.Logger, "turns are not given up", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = p
}
