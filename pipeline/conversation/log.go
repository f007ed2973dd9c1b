package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// The kinds of the records of a conversation: its turns, which are never removed, the
// digest of the turns that have left its window, and up to which turn facts were extracted.
const (
	KindTurn     = "turn"
	KindDigest   = "digest"
	KindPromoted = "promoted"
)

const (
	digestID   = "digest"
	promotedID = "promoted"
)

// TurnStore is what [Log] needs of a [store.Store].
type TurnStore interface {
	Append(ctx context.Context, key store.Key, recs ...store.Record) (first int64, err error)
	Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error)
	Last(ctx context.Context, key store.Key, n int) ([]store.Record, error)
	Put(ctx context.Context, key store.Key, rec store.Record) error
	Get(ctx context.Context, key store.Key, id string) (store.Record, error)
	Clear(ctx context.Context, key store.Key) (int, error)
	Apply(ctx context.Context, changes ...store.Change) error
}

// Log is a [TurnLog] in a store. Several processes may add to one conversation, and no turn
// is lost. But a process sees the turns of the others only when it loads the conversation
// again.
type Log struct {
	turns   TurnStore
	turnKey store.Key
	digest  store.Key
	mark    store.Key // of the record PromotedThrough

	mu     sync.Mutex
	passed bool // new turns have numbers above those of the digest
}

var (
	_ TurnsLog     = (*Log)(nil)
	_ CondensedLog = (*Log)(nil)
)

// NewLog returns the log of a conversation of a tenant.
func NewLog(s TurnStore, tenant, conversation string) *Log {
	return &Log{
		turns:   s,
		turnKey: store.Key{Tenant: tenant, Kind: KindTurn, Stream: conversation},
		digest:  store.Key{Tenant: tenant, Kind: KindDigest, Stream: conversation},
		mark:    store.Key{Tenant: tenant, Kind: KindPromoted, Stream: conversation},
	}
}

// AppendTurn implements [TurnLog]. The number of the turn is greater than that of every
// turn in the digest, even if the store has none of those turns.
func (l *Log) AppendTurn(ctx context.Context, t pipeline.Turn) (int64, error) {
	if err := l.pass(ctx); err != nil {
		return 0, err
	}
	rec, err := encodeTurn(&t)
	if err != nil {
		return 0, err
	}
	return l.turns.Append(ctx, l.turnKey, rec)
}

// AppendTurns implements [TurnsLog]. [Log.AppendTurn] describes the numbers.
func (l *Log) AppendTurns(ctx context.Context, turns []pipeline.Turn) (first int64, err error) {
	if err := l.pass(ctx); err != nil {
		return 0, err
	}
	recs := make([]store.Record, len(turns))
	for i := range turns {
		if recs[i], err = encodeTurn(&turns[i]); err != nil {
			return 0, fmt.Errorf("%w: %w", pipeline.ErrInvalid, err)
		}
	}
	first, err = l.turns.Append(ctx, l.turnKey, recs...)
	if errors.Is(err, store.ErrInvalid) {
		return 0, fmt.Errorf("%w: %w", pipeline.ErrInvalid, err)
	}
	return first, err
}

func encodeTurn(t *pipeline.Turn) (store.Record, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return store.Record{}, fmt.Errorf("encode turn: %w", err)
	}
	return store.Record{Data: data, Time: t.CreatedAt}, nil
}

// pass makes sure that new turns get numbers above those of the digest. A turn with a lower
// number would count as condensed, and nobody would see it.
func (l *Log) pass(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed {
		return nil
	}
	d, err := l.loadDigest(ctx)
	if err == nil && d.Through > 0 {
		err = l.turns.Apply(ctx, store.Change{Key: l.turnKey, LastSeq: d.Through})
	}
	if err != nil {
		return err
	}
	l.passed = true
	return nil
}

// SaveDigest implements [TurnLog]. If another process has stored a digest that reaches further,
// that digest stays. A digest without a text and without kept turns empties the conversation;
// it then reaches as far as the other.
func (l *Log) SaveDigest(ctx context.Context, d Digest) error {
	return l.SaveCondensed(ctx, d, nil)
}

// saveTries is how often a digest is saved anew that somebody else saved meanwhile.
const saveTries = 8

// SaveCondensed implements [CondensedLog]. Only the newest [store.MaxBatch] of the turns are
// looked for.
func (l *Log) SaveCondensed(ctx context.Context, d Digest, turns []int64) error {
	there := store.Change{Key: l.turnKey}
	for _, number := range turns[max(0, len(turns)-store.MaxBatch+1):] {
		there.If = append(there.If, store.Record{ID: store.AutoID(number)})
	}
	var seen []byte
	for try := 0; ; try++ {
		change, saved, err := l.replacing(ctx, &d)
		if err != nil || saved {
			return err
		}
		err = l.turns.Apply(ctx, there, change)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		var current []byte
		if len(change.If) > 0 {
			current = change.If[0].Data
		}
		if try == saveTries || try > 0 && bytes.Equal(seen, current) { // the turns are gone
			return err
		}
		seen = current
	}
}

// replacing returns the change that replaces the stored digest, provided that nobody changes
// it. It reports whether the stored digest already reaches further, so that it stays.
func (l *Log) replacing(ctx context.Context, d *Digest) (change store.Change, stays bool, err error) {
	change.Key = l.digest
	r, err := l.turns.Get(ctx, l.digest, digestID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		change.IfNewest = new(int64)
	case err != nil:
		return change, false, err
	default:
		change.If = []store.Record{{ID: digestID, Data: r.Data}}
		var stored Digest
		if json.Unmarshal(r.Data, &stored) == nil && stored.Through > d.Through { // a damaged one is replaced
			if d.Text != "" || len(d.Kept) > 0 {
				return change, true, nil
			}
			d.Through = stored.Through
		}
	}
	data, err := json.Marshal(d)
	if err != nil {
		return change, false, fmt.Errorf("encode digest: %w", err)
	}
	change.Put = []store.Record{{ID: digestID, Data: data}}
	return change, false, nil
}

// Turns returns turns of the whole conversation, including those that have left its window.
// It returns at most limit turns, by ascending number, that have a number above after.
// limit 0 means no limit.
func (l *Log) Turns(ctx context.Context, after int64, limit int) ([]pipeline.Turn, error) {
	records, err := l.turns.Read(ctx, l.turnKey, after, limit)
	if err != nil {
		return nil, err
	}
	return decodeTurns(records)
}

// Delete deletes the whole conversation and returns how many turns it had. Load a window of
// this conversation again afterwards.
func (l *Log) Delete(ctx context.Context) (int, error) {
	total := 0
	for i, key := range []store.Key{l.turnKey, l.digest, l.mark} {
		n, err := l.turns.Clear(ctx, key)
		if key.Kind == KindTurn {
			total = n
		}
		if err != nil {
			return total, fmt.Errorf("conversation: delete: %w", store.Partly(i > 0, err))
		}
	}
	return total, nil
}

// PromotedThrough is the record of the turn up to which facts were taken from a
// conversation.
type PromotedThrough struct {
	// Through is the number of the last turn that was promoted.
	Through int64 `json:"through"`
}

// Promoted returns the number of the last turn that was promoted, 0 for none.
func (l *Log) Promoted(ctx context.Context) (int64, error) {
	through, _, err := l.PromotionMark(ctx)
	return through, err
}

// Key is the key of the turns in the store.
func (l *Log) Key() store.Key { return l.turnKey }

// Store returns the store that has the turns.
func (l *Log) Store() TurnStore { return l.turns }

// PromotionMark is [Log.Promoted]. It also returns a change whose condition is that the note of
// the number stays as it is; see [Noted].
func (l *Log) PromotionMark(ctx context.Context) (int64, store.Change, error) {
	note := store.Change{Key: l.mark}
	r, err := l.turns.Get(ctx, l.mark, promotedID)
	if errors.Is(err, store.ErrNotFound) {
		note.IfNewest = new(int64)
		return 0, note, nil
	}
	var p PromotedThrough
	if err == nil {
		err = json.Unmarshal(r.Data, &p)
	}
	if err != nil {
		return 0, note, fmt.Errorf("conversation: promoted turns: %w", err)
	}
	note.If = []store.Record{{ID: promotedID, Data: r.Data}}
	return max(0, p.Through), note, nil
}

// Noted returns the change of [Log.PromotionMark] with the number of the last turn that was
// promoted.
func Noted(note store.Change, through int64) (store.Change, error) {
	data, err := json.Marshal(PromotedThrough{through})
	note.Put = []store.Record{{ID: promotedID, Data: data}}
	return note, err
}

// SetPromoted notes the number of the last turn that was promoted. A greater number that
// is noted already stays.
func (l *Log) SetPromoted(ctx context.Context, through int64) error {
	for {
		at, note, err := l.PromotionMark(ctx)
		if err != nil || at >= through {
			return err
		}
		if note, err = Noted(note, through); err == nil {
			err = l.turns.Apply(ctx, note)
		}
		switch {
		case errors.Is(err, store.ErrConflict):
		case err != nil:
			return fmt.Errorf("conversation: note promoted turns: %w", err)
		default:
			return nil
		}
	}
}

// Unpromoted returns how many turns were added since the last one that was promoted. The
// number includes turns that were deleted since.
func (l *Log) Unpromoted(ctx context.Context) (int64, error) {
	last, err := l.turns.Last(ctx, l.turnKey, 1)
	if err != nil || len(last) == 0 {
		return 0, err
	}
	through, err := l.Promoted(ctx)
	return max(0, last[0].Seq-through), err
}

// Load restores a window: the digest, the turns that the window kept although newer ones
// left, and as many of the newest turns as there is room for, or as its compactor may get. It reads from the end, so
// that its time depends on the size of the window and not of the conversation.
func (l *Log) Load(ctx context.Context, w *SlidingWindow) error {
	d, err := l.loadDigest(ctx)
	if err != nil {
		return fmt.Errorf("conversation: load: %w", err)
	}
	var turns []pipeline.Turn
	if d.Through > 0 && w.KeepsDigest() && w.cfg.Compactor == nil {
		turns, err = l.Turns(ctx, d.Through, 0) // none of them has been condensed
	} else {
		turns, err = l.newest(ctx, d.Through, w.readTokens())
	}
	if err != nil {
		return fmt.Errorf("conversation: load: %w", err)
	}
	kept, err := l.kept(ctx, d)
	if err != nil {
		return fmt.Errorf("conversation: load: %w", err)
	}
	return w.Restore(ctx, d, append(kept, turns...))
}

func (l *Log) loadDigest(ctx context.Context) (d Digest, err error) {
	r, err := l.turns.Get(ctx, l.digest, digestID)
	if errors.Is(err, store.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return d, fmt.Errorf("digest: %w", err)
	}
	if d.Through < 0 || d.Count < 0 || !slices.IsSorted(d.Kept) {
		return d, fmt.Errorf("digest: %w", pipeline.ErrInvalid)
	}
	return d, nil
}

// firstRead is the number of turns that Load reads at first. Most conversations are no
// longer.
const firstRead = 64

// newest returns the turns numbered above through that fit, beginning with the newest.
func (l *Log) newest(ctx context.Context, through int64, maxTokens int) ([]pipeline.Turn, error) {
	for n := firstRead; ; n *= 2 {
		records, err := l.turns.Last(ctx, l.turnKey, n)
		if err != nil {
			return nil, err
		}
		whole := len(records) < n // the store has no more
		for len(records) > 0 && records[0].Seq <= through {
			records, whole = records[1:], true
		}
		turns, err := decodeTurns(records)
		if err != nil {
			return nil, err
		}
		if fits, all := fitting(turns, maxTokens); whole || !all {
			return fits, nil
		}
	}
}

// fitting returns the last turns that fit, and whether all of them fit.
func fitting(turns []pipeline.Turn, maxTokens int) (_ []pipeline.Turn, all bool) {
	room := maxTokens
	for i := len(turns) - 1; i >= 0; i-- {
		room -= min(turns[i].TokenCount, maxTokens) // the window cuts what is larger
		if room < 0 {
			return turns[i+1:], false
		}
	}
	return turns, true
}

// kept returns the turns that stayed in the window when later ones left.
func (l *Log) kept(ctx context.Context, d Digest) ([]pipeline.Turn, error) {
	var turns []pipeline.Turn
	for _, sequence := range d.Kept {
		one, err := l.Turns(ctx, sequence-1, 1)
		if err != nil {
			return nil, err
		}
		if len(one) == 1 && one[0].Sequence == sequence {
			turns = append(turns, one[0])
		}
	}
	return turns, nil
}

// decodeTurns returns the turns of records, with their numbers.
func decodeTurns(records []store.Record) ([]pipeline.Turn, error) {
	turns := make([]pipeline.Turn, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Data, &turns[i]); err != nil {
			return nil, fmt.Errorf("turn %d: %w", r.Seq, err)
		}
		turns[i].Sequence = r.Seq
	}
	return turns, nil
}
