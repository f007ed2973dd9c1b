package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// DefaultPoll is how often a host looks at the store, give or take a quarter.
	DefaultPoll = 2 * time.Second
	// lateAfter is the number of polls without a beat after which a host is late.
	lateAfter = 8
	// callTime bounds one look at the store.
	callTime = 10 * time.Second
	// tryAgain is the number of polls after which a version that could not be loaded is tried again.
	tryAgain = 15
)

// Documents are the documents of a version.
type Documents struct {
	Version Version
	// Config is anchor.yaml, and Lock anchor.lock, nil if there is none.
	Config, Lock []byte
}

// Host loads what a [Follower] has read. Its methods are called one at a time.
type Host interface {
	// Follow makes the App serve a stable version and a candidate, which is nil for none. stable is nil if
	// it stays as it is. After an error the App serves what it served before.
	Follow(ctx context.Context, stable, candidate *Documents) error
	// Keys makes the file of the keys what the cluster says.
	Keys(data []byte) error
}

// FollowerOptions are the settings of a [Follower].
type FollowerOptions struct {
	// ID names the host; see [Member].
	ID string
	// Dir is a folder of this host alone, in which it keeps what it has read last.
	Dir string
	// Store is where the hosts meet.
	Store store.Store
	// Build is the version of the program.
	Build string
	// Shadows returns how the second versions of steps do. It is called after Run. nil: there are none.
	Shadows func() []shadows.Comparison
	// Logger receives log lines. nil discards them.
	Logger *slog.Logger
	// Poll is how often the store is looked at. 0: [DefaultPoll].
	Poll time.Duration
	// Now is the clock, of which only differences matter. nil: that of the system.
	Now func() time.Time
}

// Follower keeps a host at what the store says. Begin is called first, then Run. The other methods can be called
// at any time.
type Follower struct {
	o    FollowerOptions
	lead leader

	// What follows belongs to Begin and Run.
	desired *Desired // the newest that was done; nil before the first
	wait    int      // polls until a version that failed is tried again
	away    bool     // the store could not be read last
	keys    string   // digest of the file of the keys that the host has

	mu     sync.Mutex
	member Member
	split  *split
}

// split is what requests need to know of a rollout. It does not change.
type split struct {
	salt  string
	share int
}

// NewFollower returns a follower.
func NewFollower(o FollowerOptions) *Follower {
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Follower{
		o: o, member: Member{ID: o.ID, Build: o.Build},
		lead: leader{id: o.ID, now: o.Now, late: lateAfter * o.Poll, hosts: map[string]*sight{}},
	}
}

// saved is what a host keeps on its disk.
type saved struct {
	Desired *Desired `json:"desired"`
	Config  []byte   `json:"config"`
	Lock    []byte   `json:"lock,omitempty"`
	Keys    []byte   `json:"keys,omitempty"`
}

func (f *Follower) savedPath() string { return filepath.Join(f.o.Dir, "followed.json") }

// Begin returns the stable version and the file of the keys with which the host begins: those of the store, or
// if it cannot be read, those that were read last. stable is nil before the first rollout, and keys are nil if
// the cluster has none.
func (f *Follower) Begin(ctx context.Context) (stable *Documents, keys []byte, err error) {
	now, err := f.fetch(ctx)
	if err != nil {
		why := err
		if now, err = f.readSaved(); errors.Is(err, fs.ErrNotExist) {
			// The keys of its own file may be revoked in the store.
			return nil, nil, fmt.Errorf("cluster: the store cannot be read, and this host has read nothing from it before (start the store): %w", why)
		}
		if err != nil {
			return nil, nil, err
		}
		f.o.Logger.Warn("cluster: the store cannot be read; the host begins with what it has read last", "error", why)
		f.away = true
	} else {
		f.save(now)
		f.continueCounts(ctx)
	}
	if now.Keys != nil {
		f.keys = DigestOf(now.Keys)
		f.member.Keys = f.keys
	}
	if now.Desired == nil {
		return nil, now.Keys, nil
	}
	d := now.Desired
	f.member.Stable = d.Stable
	if d.Candidate == nil {
		f.done(d, nil)
	}
	return &Documents{d.Stable, now.Config, now.Lock}, now.Keys, nil
}

// fetch reads everything that a host needs to begin.
func (f *Follower) fetch(ctx context.Context) (*saved, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := Read(ctx, f.o.Store)
	if err != nil {
		return nil, err
	}
	now := &saved{Desired: d}
	if d != nil {
		docs, err := f.documents(ctx, d.Stable)
		if err != nil {
			return nil, err
		}
		now.Config, now.Lock = docs.Config, docs.Lock
	}
	digest, err := KeysDigest(ctx, f.o.Store)
	if err == nil && digest != "" {
		now.Keys, err = Document(ctx, f.o.Store, digest)
	}
	return now, err
}

func (f *Follower) documents(ctx context.Context, v Version) (d *Documents, err error) {
	d = &Documents{Version: v}
	if d.Config, err = Document(ctx, f.o.Store, v.Config); err == nil && v.Lock != "" {
		d.Lock, err = Document(ctx, f.o.Store, v.Lock)
	}
	return d, err
}

// readSaved returns what was saved last.
func (f *Follower) readSaved() (*saved, error) {
	now := &saved{}
	data, err := os.ReadFile(f.savedPath())
	if err == nil {
		err = json.Unmarshal(data, now)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: read what was followed last: %w", err)
	}
	return now, nil
}

func (f *Follower) save(now *saved) {
	data, err := json.Marshal(now)
	if err == nil {
		err = atomicfile.Write(f.savedPath(), 0o600, data)
	}
	if err != nil {
		f.o.Logger.Warn("cluster: what the host follows is not saved for a start without the store", "error", err)
	}
}

// continueCounts takes over what the host has counted before it was started again.
func (f *Follower) continueCounts(ctx context.Context) {
	var m Member
	if raw, err := read(ctx, f.o.Store, "host", f.o.ID, &m); err == nil && raw != nil {
		f.member.Beats, f.member.Rollout, f.member.Counts = m.Beats, m.Rollout, m.Counts
	}
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context, h Host) {
	for ctx.Err() == nil {
		f.Poll(ctx, h)
		jitter, err := rand.Int(rand.Reader, big.NewInt(int64(f.o.Poll)/2+1))
		if err != nil {
			jitter = big.NewInt(0)
		}
		timer := time.NewTimer(f.o.Poll*3/4 + time.Duration(jitter.Int64()))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Poll looks at the store once, and does what it says. It logs its errors; the host then goes on with what it
// has.
func (f *Follower) Poll(ctx context.Context, h Host) {
	err := f.poll(ctx, h)
	switch {
	case err != nil && ctx.Err() == nil && !f.away:
		f.away = true
		f.o.Logger.Warn("cluster: the store cannot be read or written; the host goes on with what it has", "error", err)
	case err == nil && f.away:
		f.away = false
		f.o.Logger.Info("cluster: the store is back")
	}
}

func (f *Follower) poll(ctx context.Context, h Host) error {
	short, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := Read(short, f.o.Store)
	if err != nil {
		return err
	}
	if err := f.followKeys(short, h); err != nil {
		return err
	}
	if d != nil && (f.desired == nil || d.Generation != f.desired.Generation) {
		if f.wait--; f.wait < 0 || d.Generation != f.failed() {
			if err := f.follow(ctx, h, d); err != nil {
				return err
			}
		}
	}
	short, cancel = context.WithTimeout(ctx, callTime) // loading may have taken long
	defer cancel()
	if err := f.beat(short); err != nil {
		return err
	}
	return f.lead.lead(short, f.o.Store)
}

func (f *Follower) failed() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.member.Failed
}

// followKeys takes a new file of the keys.
func (f *Follower) followKeys(ctx context.Context, h Host) error {
	digest, err := KeysDigest(ctx, f.o.Store)
	if err != nil || digest == f.keys || digest == "" {
		return err
	}
	data, err := Document(ctx, f.o.Store, digest)
	if err != nil {
		return err
	}
	if err := h.Keys(data); err != nil {
		f.o.Logger.Error("cluster: the file of the keys cannot be used; the keys stay as they are", "error", err)
		return nil
	}
	f.keys = digest
	f.mu.Lock()
	f.member.Keys = digest
	f.mu.Unlock()
	if now, err := f.readSaved(); err == nil {
		now.Keys = data
		f.save(now)
	}
	return nil
}

// follow makes the host do a generation. The error is that of the store alone.
func (f *Follower) follow(ctx context.Context, h Host, d *Desired) error {
	f.mu.Lock()
	had := f.member
	f.mu.Unlock()
	if d.Candidate != nil && had.Candidate != nil && had.Stable == d.Stable && *had.Candidate == *d.Candidate {
		f.done(d, d.Candidate) // only the share is another one
		return nil
	}
	var candidate *Documents
	stable, err := f.documents(ctx, d.Stable)
	if err == nil && d.Candidate != nil {
		candidate, err = f.documents(ctx, *d.Candidate)
	}
	if err != nil {
		return err // also if a newer generation has deleted them
	}
	f.unsplit() // while both are loaded, nobody has the candidate of before
	var load *Documents
	if had.Stable != d.Stable {
		load = stable
	}
	if err := h.Follow(ctx, load, candidate); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.o.Logger.Error("cluster: the host cannot load what it has to, and goes on with what it has", "generation", d.Generation, "error", err)
		f.mu.Lock()
		f.member.Error, f.member.Failed = short(err.Error()), d.Generation
		f.begin(d)
		f.mu.Unlock()
		f.wait = tryAgain
		return nil
	}
	f.done(d, d.Candidate)
	keys := []byte(nil)
	if old, err := f.readSaved(); err == nil {
		keys = old.Keys
	}
	f.save(&saved{d, stable.Config, stable.Lock, keys})
	f.o.Logger.Info("cluster: the host follows", "generation", d.Generation, "stable", d.Stable.Short(), "share", d.Share(), "why", d.Why)
	return nil
}

// maxShadows bounds the second versions of which a host tells.
const maxShadows = 50

// maxError bounds the text of an error that the store keeps, in bytes.
const maxError = 2000

func short(text string) string { return text[:min(len(text), maxError)] }

// done notes that the host does a generation.
func (f *Follower) done(d *Desired, candidate *Version) {
	f.desired = d
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &f.member
	m.Generation, m.Stable, m.Candidate, m.Error, m.Failed = d.Generation, d.Stable, candidate, "", 0
	f.begin(d)
	if f.split = nil; candidate != nil {
		f.split = &split{candidate.Config + candidate.Lock, d.Share()}
	}
}

// begin begins to count anew if the rollout is another one. f.mu is held.
func (f *Follower) begin(d *Desired) {
	if f.member.Rollout != d.Rollout {
		f.member.Rollout, f.member.Counts = d.Rollout, Pair{}
	}
}

func (f *Follower) unsplit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.split, f.member.Candidate = nil, nil
}

// beat writes the record of the host.
func (f *Follower) beat(ctx context.Context) error {
	var list []shadows.Comparison
	if f.o.Shadows != nil {
		list = f.o.Shadows()
	}
	f.mu.Lock()
	f.member.Shadows = list[:min(len(list), maxShadows)]
	f.member.Beats++
	f.member.Time = f.o.Now().UTC()
	data, err := json.Marshal(&f.member)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if err := f.o.Store.Put(ctx, key("host"), store.Record{ID: f.o.ID, Data: data}); err != nil {
		return fmt.Errorf("cluster: write the record of the host: %w", err)
	}
	return nil
}

// ID names the host.
func (f *Follower) ID() string { return f.o.ID }

// Leave deletes the record of the host, which ends.
func (f *Follower) Leave(ctx context.Context) error {
	_, err := f.o.Store.Delete(ctx, key("host"), f.o.ID)
	return err
}

// HasCandidate reports whether some conversations have a candidate.
func (f *Follower) HasCandidate() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.split != nil && f.split.share > 0
}

// Choose reports whether a conversation of a tenant has the candidate. The answer is the same on all hosts
// with the same generation, and stays true while the share grows.
func (f *Follower) Choose(tenant, conversation string) bool {
	f.mu.Lock()
	s := f.split
	f.mu.Unlock()
	return s != nil && chosen(s, tenant, conversation)
}

// Count counts a build.
func (f *Follower) Count(candidate, failed bool, took time.Duration, fuel int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.member.Counts.Stable
	if candidate {
		c = &f.member.Counts.Candidate
	}
	c.Add(failed, took, fuel)
}

// places is the number of places of conversations, of which a share has the candidate.
const places = 10_000

// chosen reports whether a conversation is among those that have the candidate.
func chosen(s *split, tenant, conversation string) bool {
	digest := DigestOf(slices.Concat([]byte(s.salt), []byte{0}, []byte(tenant), []byte{0}, []byte(conversation)))
	place := 0
	for _, c := range digest[len("sha256:"):][:12] {
		place = (place*16 + hexValue(c)) % places
	}
	return place < s.share*places/100
}

func hexValue(c rune) int {
	if c >= 'a' {
		return int(c-'a') + 10
	}
	return int(c - '0')
}
