package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// MaxDocument is the largest document of a cluster in bytes: a configuration, a lock, or a file of keys.
const MaxDocument = 8 << 20

// maxMembers bounds the hosts that are read.
const maxMembers = 1000

const desiredID, keysID, leaseID = "desired", "keys", "lease"

// key returns the key of a kind of records of the cluster.
func key(kind string) store.Key { return store.Key{Tenant: store.ClusterTenant, Kind: kind} }

// read reads one record into to. The raw data is for a condition; it is nil if there is no such record.
func read(ctx context.Context, s store.Store, kind, id string, to any) (raw json.RawMessage, err error) {
	rec, err := s.Get(ctx, key(kind), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cluster: read %s: %w", kind, err)
	}
	if err := json.Unmarshal(rec.Data, to); err != nil {
		return nil, fmt.Errorf("cluster: read %s: %w", kind, err)
	}
	return rec.Data, nil
}

// replacing returns the change that puts a value in the place of what read has returned, which must be as it
// was.
func replacing(kind, id string, was json.RawMessage, value any) (store.Change, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return store.Change{}, fmt.Errorf("cluster: write %s: %w", kind, err)
	}
	c := store.Change{Key: key(kind), Put: []store.Record{{ID: id, Data: data}}}
	if was == nil {
		c.IfNewest = new(int64)
	} else {
		c.If = []store.Record{{ID: id, Data: was}}
	}
	return c, nil
}

// Read returns what the hosts follow, nil before the first rollout.
func Read(ctx context.Context, s store.Store) (*Desired, error) {
	d, _, err := readDesired(ctx, s)
	return d, err
}

func readDesired(ctx context.Context, s store.Store) (*Desired, json.RawMessage, error) {
	var d Desired
	raw, err := read(ctx, s, desiredID, desiredID, &d)
	if err != nil || raw == nil {
		return nil, nil, err
	}
	if d.Generation < 1 || d.Step < 0 || d.Step > len(d.Steps) || len(d.Steps) > maxSteps {
		return nil, nil, fmt.Errorf("cluster: read desired: %w: generation %d, step %d of %d", ErrInvalid, d.Generation, d.Step, len(d.Steps))
	}
	return &d, raw, nil
}

// Document returns a document by its digest.
func Document(ctx context.Context, s store.Store, digest string) ([]byte, error) {
	var data []byte
	raw, err := read(ctx, s, "document", digest, &data)
	switch {
	case err != nil:
		return nil, err
	case raw == nil:
		return nil, fmt.Errorf("cluster: document %s: %w", digest, store.ErrNotFound)
	case DigestOf(data) != digest:
		return nil, fmt.Errorf("cluster: document %s: %w: its digest is %s", digest, ErrInvalid, DigestOf(data))
	}
	return data, nil
}

// putting returns the change that adds documents.
func putting(documents ...[]byte) (store.Change, error) {
	c := store.Change{Key: key("document")}
	for _, data := range documents {
		if len(data) > MaxDocument {
			return c, fmt.Errorf("%w: a document of %d bytes (at most %d)", ErrInvalid, len(data), MaxDocument)
		}
		text, err := json.Marshal(data)
		if err != nil {
			return c, err
		}
		c.Put = append(c.Put, store.Record{ID: DigestOf(data), Data: text})
	}
	return c, nil
}

// keep returns the change that adds documents, and deletes those that nothing names any more.
func keep(ctx context.Context, s store.Store, documents [][]byte, used ...string) (store.Change, error) {
	c, err := putting(documents...)
	if err != nil {
		return c, err
	}
	for _, rec := range c.Put {
		used = append(used, rec.ID)
	}
	for after := int64(0); ; {
		recs, err := s.Read(ctx, c.Key, after, 1) // one document at a time is in memory
		if err != nil {
			return c, fmt.Errorf("cluster: read documents: %w", err)
		}
		if len(recs) == 0 {
			return c, nil
		}
		after = recs[0].Seq
		if !slices.Contains(used, recs[0].ID) {
			c.Delete = append(c.Delete, recs[0].ID)
		}
	}
}

// keysRecord says which document is the file of the keys.
type keysRecord struct {
	Digest string `json:"digest"`
}

// KeysDigest returns the digest of the file of the keys, "" if the cluster has none.
func KeysDigest(ctx context.Context, s store.Store) (string, error) {
	var k keysRecord
	_, err := read(ctx, s, keysID, keysID, &k)
	return k.Digest, err
}

// EditKeys changes the file of the keys of all hosts. change gets its content, nil if there is none, and
// returns the new one. It is called again if somebody else has changed the file meanwhile.
func EditKeys(ctx context.Context, s store.Store, change func(old []byte) ([]byte, error)) error {
	for {
		var k keysRecord
		was, err := read(ctx, s, keysID, keysID, &k)
		if err != nil {
			return err
		}
		var old []byte
		if was != nil {
			old, err = Document(ctx, s, k.Digest)
			if errors.Is(err, store.ErrNotFound) && replaced(ctx, s, k) {
				continue
			}
			if err != nil {
				return err
			}
		}
		data, err := change(old)
		if err != nil {
			return err
		}
		set, err := replacing(keysID, keysID, was, keysRecord{DigestOf(data)})
		if err != nil {
			return err
		}
		docs, err := putting(data)
		if err != nil {
			return err
		}
		if was != nil && k.Digest != docs.Put[0].ID {
			docs.Delete = []string{k.Digest}
		}
		if err := s.Apply(ctx, set, docs); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// replaced reports whether somebody has changed the file of the keys since k was read: its document is gone then.
func replaced(ctx context.Context, s store.Store, k keysRecord) bool {
	var now keysRecord
	_, err := read(ctx, s, keysID, keysID, &now)
	return err == nil && now != k
}

// Start says what a new rollout is.
type Start struct {
	// Config and Lock are the documents. Lock may be nil.
	Config, Lock []byte
	// Steps and Every are as in [Desired]. nil: [DefaultSteps].
	Steps []int
	Every time.Duration
	// Bounds are those of the candidate.
	Bounds Bounds
	// Who starts it, and Why.
	Who, Why string
}

// Begin begins a rollout, in one write. The first version of a cluster becomes the stable one at once, as there is
// nothing to compare it with. The error wraps [ErrNotNow] if a rollout is under way.
func Begin(ctx context.Context, s store.Store, o Start) (*Desired, error) {
	v := Version{Config: DigestOf(o.Config)}
	documents := [][]byte{o.Config}
	if o.Lock != nil {
		v.Lock, documents = DigestOf(o.Lock), append(documents, o.Lock)
	}
	for {
		d, was, err := readDesired(ctx, s)
		if err != nil {
			return nil, err
		}
		next, err := begun(d, v, &o)
		if err != nil {
			return nil, err
		}
		set, err := replacing(desiredID, desiredID, was, next)
		if err != nil {
			return nil, err
		}
		var keys keysRecord
		had, err := read(ctx, s, keysID, keysID, &keys)
		if err != nil {
			return nil, err
		}
		same := store.Change{Key: key(keysID), If: []store.Record{{ID: keysID, Data: had}}} // or a new file of keys would be deleted
		if had == nil {
			same.If, same.IfNewest = nil, new(int64)
		}
		docs, err := keep(ctx, s, documents, next.Stable.Config, next.Stable.Lock, keys.Digest)
		if err != nil {
			return nil, err
		}
		err = s.Apply(ctx, set, same, docs)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("cluster: begin rollout: %w", err)
		}
	}
}

// begun is the state after the begin of a rollout.
func begun(d *Desired, v Version, o *Start) (*Desired, error) {
	next := &Desired{Generation: 1, Rollout: 1, Stable: v, Phase: Settled, Outcome: Promoted, Who: o.Who, Why: o.Why, Time: time.Now().UTC()}
	if d == nil {
		return next, nil
	}
	if d.Candidate != nil {
		return nil, fmt.Errorf("%w: that of %s is %s (end it with: anchor-host rollout abort)", ErrNotNow, d.Candidate.Short(), d.Phase)
	}
	if d.Stable == v {
		return nil, fmt.Errorf("%w: this is the stable version already", ErrInvalid)
	}
	next.Generation, next.Stable, next.Candidate, next.Phase, next.Outcome = d.Generation+1, d.Stable, &v, Running, ""
	next.Rollout, next.Every, next.Bounds = next.Generation, o.Every, o.Bounds.withDefaults()
	if next.Steps = o.Steps; next.Steps == nil {
		next.Steps = DefaultSteps()
	}
	if err := next.Bounds.check(); err != nil {
		return nil, err
	}
	if len(next.Steps) == 0 || len(next.Steps) > maxSteps || !slices.IsSorted(next.Steps) || next.Steps[0] < 1 || next.Steps[len(next.Steps)-1] > 100 {
		return nil, fmt.Errorf("%w: steps %v (want up to %d ascending shares from 1 to 100)", ErrInvalid, next.Steps, maxSteps)
	}
	if o.Every < 0 {
		return nil, fmt.Errorf("%w: every %s (want 0 or more)", ErrInvalid, o.Every)
	}
	return next, nil
}

// Change changes what hosts follow. change gets a copy of it, and returns an error if there is nothing to
// change. It is called again if somebody else was first.
func Change(ctx context.Context, s store.Store, who, why string, change func(*Desired) error) (*Desired, error) {
	for {
		d, was, err := readDesired(ctx, s)
		if err != nil {
			return nil, err
		}
		if d == nil {
			return nil, fmt.Errorf("cluster: there is no rollout: %w (begin one with: anchor-host rollout start)", store.ErrNotFound)
		}
		if err := change(d); err != nil {
			return nil, err
		}
		d.Generation, d.Who, d.Why, d.Time = d.Generation+1, who, why, time.Now().UTC()
		set, err := replacing(desiredID, desiredID, was, d)
		if err != nil {
			return nil, err
		}
		err = s.Apply(ctx, set)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("cluster: change rollout: %w", err)
		}
	}
}

// errNone is the error of a change to a rollout that is over.
func errNone(d *Desired) error {
	return fmt.Errorf("%w: generation %d is settled, and has no candidate", ErrNotNow, d.Generation)
}

// Pause keeps the share of the candidate as it is.
func Pause(d *Desired) error {
	if d.Candidate == nil {
		return errNone(d)
	}
	d.Phase = Paused
	return nil
}

// Resume goes on after [Pause].
func Resume(d *Desired) error {
	if d.Phase != Paused {
		return fmt.Errorf("%w: it is %s (want paused)", ErrNotNow, d.Phase)
	}
	d.Phase = Running
	return nil
}

// Next goes to the next share, and after the last one makes the candidate the stable version.
func Next(d *Desired) error {
	if d.Candidate == nil {
		return errNone(d)
	}
	if d.Phase = Running; d.Step < len(d.Steps) {
		d.Step++
		return nil
	}
	d.Stable = *d.Candidate
	d.settle(Promoted)
	return nil
}

// Abort gives all conversations the stable version.
func Abort(d *Desired) error {
	if d.Candidate == nil {
		return errNone(d)
	}
	d.settle(Aborted)
	return nil
}

func (d *Desired) settle(o Outcome) {
	d.Candidate, d.Step, d.Steps, d.Every, d.Phase, d.Outcome = nil, 0, nil, 0, Settled, o
}

// Members returns what the hosts say of themselves, sorted by ID.
func Members(ctx context.Context, s store.Store) (list []Member, err error) {
	recs, err := s.Read(ctx, key("host"), 0, maxMembers)
	if err != nil {
		return nil, fmt.Errorf("cluster: read hosts: %w", err)
	}
	for i := range recs {
		var m Member
		if err := json.Unmarshal(recs[i].Data, &m); err != nil || m.ID != recs[i].ID {
			continue // another version of the program has written it
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}
