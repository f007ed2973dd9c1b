package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/quota"
)

// Store says who sends a request, by the keys of a file. It is a [server.Authenticator] and a
// [server.Companion]. It is safe for concurrent use, and answers without reading the file.
type Store struct {
	path    string
	now     func() time.Time
	current atomic.Pointer[table]

	mu      sync.Mutex // one reading at a time
	reads   int        // how often the file was read
	problem error      // of the last time
}

// table is a file as requests use it. It never changes.
type table struct {
	// read is how often the file had been read, so that an old file never replaces a newer one.
	read int
	file *File
	keys map[string]*entry
	seen stamp
}

type entry struct {
	*Key
	digest [sha256.Size]byte
}

// stamp tells one state of a file from another without reading it.
type stamp struct {
	changed time.Time
	size    int64
	info    os.FileInfo
}

func (s stamp) same(t stamp) bool {
	return s.info != nil && t.info != nil && s.size == t.size && s.changed.Equal(t.changed) && os.SameFile(s.info, t.info)
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size(), info}, nil
}

// Open reads a file of keys.
func Open(path string) (*Store, error) {
	s := &Store{path: path, now: time.Now}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the file again. If that fails, the keys stay as they are. Requests that run go on
// as they began.
func (s *Store) Reload() error {
	commit, err := s.Prepare()
	if err != nil {
		return err
	}
	commit()
	return nil
}

// Prepare reads the file. The keys stay as they are until commit is called.
func (s *Store) Prepare() (commit func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.read()
	if s.problem = err; err != nil {
		return nil, err
	}
	s.reads++
	next.read = s.reads
	return func() { s.commit(next) }, nil
}

// commit puts what was read in force, unless something newer is.
func (s *Store) commit(next *table) {
	for {
		old := s.current.Load()
		if old != nil && old.read > next.read || s.current.CompareAndSwap(old, next) {
			return
		}
	}
}

// Problem says why the file was not taken when it was last read, nil if it was.
func (s *Store) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

func (s *Store) read() (*table, error) {
	seen, err := stampOf(s.path) // before reading, so that a change in between is read again
	if err != nil {
		return nil, unread(err)
	}
	f, err := Read(s.path)
	if err != nil {
		return nil, err
	}
	return newTable(f, seen), nil
}

func newTable(f *File, seen stamp) *table {
	t := &table{file: f, keys: make(map[string]*entry, len(f.Keys)), seen: seen}
	for i := range f.Keys {
		e := &entry{Key: &f.Keys[i]}
		_, _ = hex.Decode(e.digest[:], []byte(e.SHA256)) // check has seen it
		t.keys[e.ID] = e
	}
	return t
}

// Watch reads the file again soon after it has changed, so that a key that was revoked is refused
// after at most every, also while the rest of the configuration cannot be loaded. It returns when ctx
// ends. A file that cannot be read is logged, and the keys stay as they are.
func (s *Store) Watch(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	tried := s.current.Load().seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := stampOf(s.path)
		if err == nil && (now.same(tried) || now.same(s.current.Load().seen)) {
			continue
		}
		if err != nil && tried.info == nil {
			continue // it is logged already
		}
		tried = now
		err = s.Reload()
		if err != nil {
			log.Error("keys: the file cannot be used; the keys stay as they are", "file", s.path, "error", err)
			continue
		}
		log.Info("keys: the file was read again", "file", s.path, "keys", s.Len())
	}
}

// Len returns the number of keys.
func (s *Store) Len() int { return len(s.current.Load().keys) }

// Tenants returns the tenants of the keys that are accepted now, and those with limits of their own, sorted.
func (s *Store) Tenants() []string {
	t, names := s.current.Load(), map[string]bool{}
	for name := range t.file.Tenants {
		names[name] = true
	}
	for _, k := range t.keys {
		if k.State(s.now()) == "active" {
			names[k.Tenant] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// List returns the keys in the order of the file, without the digests of their secrets.
func (s *Store) List() []Key {
	list := slices.Clone(s.current.Load().file.Keys)
	for i := range list {
		list[i].SHA256 = ""
	}
	return list
}

// LimitsMoney reports whether any tenant or key may only spend so much.
func (s *Store) LimitsMoney() bool {
	t := s.current.Load()
	limits := t.file.Default.USDPerDay > 0
	for _, l := range t.file.Tenants {
		limits = limits || l.USDPerDay > 0
	}
	for _, k := range t.keys {
		limits = limits || k.Quotas.USDPerDay > 0
	}
	return limits
}

// Limits returns what a principal may use: all keys of its tenant together, and its key alone.
func (s *Store) Limits(p server.Principal) (tenant, key quota.Limits) {
	t := s.current.Load()
	if e := t.keys[p.KeyID]; e != nil {
		key = e.Quotas
	}
	return t.file.Limits(p.Tenant), key
}

var noKey [sha256.Size]byte

// Authenticate says who sends a request. The error is a [*server.Refusal]: 400 for two different
// keys, 401 otherwise. Whether an id exists is not to be seen from the answer, nor from its time.
func (s *Store) Authenticate(r *http.Request) (server.Principal, error) {
	text, ok := sent(r.Header)
	switch {
	case !ok:
		return server.Principal{}, refuse(http.StatusBadRequest, "two_keys", "the header has different keys in Authorization and x-api-key", "send one key")
	case text == "":
		return server.Principal{}, refuse(http.StatusUnauthorized, "no_key", "the request has no key", "send it as Authorization: Bearer KEY or as x-api-key: KEY")
	}
	token, ok := ParseToken(text)
	if !ok {
		return server.Principal{}, refuse(http.StatusUnauthorized, "invalid_key", "unknown key", "check that the key is complete and was not revoked")
	}
	e := s.current.Load().keys[token.ID]
	want := &noKey
	if e != nil {
		want = &e.digest
	}
	got := sha256.Sum256([]byte(token.Secret))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || e == nil {
		return server.Principal{}, refuse(http.StatusUnauthorized, "invalid_key", "unknown key", "check that the key is complete and was not revoked")
	}
	switch e.State(s.now()) {
	case "revoked":
		return server.Principal{}, refuse(http.StatusUnauthorized, "revoked_key", "the key was revoked", "ask the operator for another key")
	case "expired":
		return server.Principal{}, refuse(http.StatusUnauthorized, "expired_key", "the key has expired", "ask the operator for another key")
	}
	return server.Principal{KeyID: e.ID, Tenant: e.Tenant, Scopes: e.Scopes}, nil
}

func refuse(status int, reason, message, remedy string) error {
	r := &server.Refusal{Status: status, Reason: reason, Message: message, Remedy: remedy}
	if status == http.StatusUnauthorized {
		r.Header = http.Header{"Www-Authenticate": {`Bearer realm="anchor-host"`}}
	}
	return r
}
