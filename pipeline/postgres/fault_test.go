package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/store"
)

// own starts a server for one test.
func own(t *testing.T) (*pgtest.Server, string) {
	t.Helper()
	pgtest.Skip(t)
	server, err := pgtest.Start(pgtest.Options{Kept: true})
	must(t, err)
	t.Cleanup(server.Close)
	return server, server.Fresh(t)
}

// hasty opens a store whose calls have little time, which may take some tries on a busy machine.
func hasty(t *testing.T, url string, o Options) (s *Store) {
	t.Helper()
	var err error
	if !await.True(func() bool {
		s, err = Open(t.Context(), url, o)
		return err == nil
	}) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What an operator has to do, and where the server is, is nothing for clients of the API, also while calls
// fail without the server, and while all connections are in use.
func TestClientsSeeNoRemedyOfTheOperator(t *testing.T) {
	server, url := own(t)
	mustOpen(t, url, Options{}) // makes the tables
	s := hasty(t, url, Options{Pool: 1, Timeout: 200 * time.Millisecond})
	check := func(what string, err error, operator string) {
		t.Helper()
		if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), operator) {
			t.Errorf("%s: the operator sees: %v, want %q", what, err, operator)
		}
		if have, want := observe.Public(err), "store: list tenants: "+store.ErrBusy.Error(); have != want {
			t.Errorf("%s: clients see %q, want %q", what, have, want)
		}
	}
	c, err := s.pool.Acquire(t.Context())
	must(t, err)
	_, err = s.Tenants(t.Context())
	check("all connections are in use", err, "raise store.pool")
	c.Release()
	server.Kill()
	for i := range openAfter + 2 {
		_, err = s.Tenants(t.Context())
		check(fmt.Sprint("call ", i), err, "start PostgreSQL")
	}
	if err == nil || !strings.Contains(err.Error(), "did not answer the last") {
		t.Errorf("the circuit is closed: %v", err)
	}
}

// Without its replica a database goes on.
func TestReplicaAway(t *testing.T) {
	away, url := own(t)
	s := mustOpen(t, pgtest.URL(t), Options{Replica: url})
	away.Kill()
	for i := range openAfter {
		if _, err := s.Tenants(store.Stale(t.Context())); !errors.Is(err, store.ErrBusy) {
			t.Errorf("call %d of the replica: %v", i, err)
		}
		if _, err := s.Append(t.Context(), store.Key{Tenant: "t", Kind: "turn"}, store.Record{Data: []byte("1")}); err != nil {
			t.Errorf("call %d of the database: %v", i, err)
		}
	}
}

// A parameter that the server does not know is no server that is away.
func TestWrongParameter(t *testing.T) {
	_, err := Open(t.Context(), pgtest.URL(t)+"&bogus=1", Options{})
	if err == nil || errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "correct the parameters of the URL") {
		t.Error(err)
	}
}

// The server is killed under load. Nothing that was acknowledged is lost, nothing comes twice, and
// numbers have neither gaps nor repeats. Every error says what to do.
func TestServerKilled(t *testing.T) {
	server, url := own(t)
	s := mustOpen(t, url, Options{Pool: 8, Timeout: 5 * time.Second})
	rounds := 3
	if os.Getenv("ANCHOR_LONG_TESTS") != "" {
		rounds = 50
	}
	var count atomic.Int64
	done, acked := make(chan struct{}), make([]map[string]bool, 6)
	var wg sync.WaitGroup
	for w := range acked {
		acked[w] = map[string]bool{}
		key := store.Key{Tenant: "t", Kind: "turn", Stream: fmt.Sprint("c", w%3)}
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprintf("%d.%d", w, i)
				_, err := s.Append(t.Context(), key, store.Record{ID: id, Data: []byte("1")})
				switch {
				case err == nil:
					acked[w][id] = true
					count.Add(1)
				case errors.Is(err, store.ErrUnknown), errors.Is(err, store.ErrBusy):
					time.Sleep(5 * time.Millisecond) // as a client that tries again
				default:
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	for range rounds {
		before := count.Load()
		if !await.True(func() bool { return count.Load() > before+20 }) {
			t.Fatal("the store does not come back")
		}
		server.Kill()
		must(t, server.Restart())
	}
	close(done)
	wg.Wait()
	seen := map[string]bool{}
	for c := range 3 {
		var list []store.Record
		if !await.True(func() (ok bool) {
			var err error
			list, err = s.Read(t.Context(), store.Key{Tenant: "t", Kind: "turn", Stream: fmt.Sprint("c", c)}, 0, 0)
			return err == nil
		}) {
			t.Fatal("the store does not come back")
		}
		for i, r := range list {
			if r.Seq != int64(i+1) || seen[r.ID] {
				t.Fatalf("record %d has number %d and ID %s (seen: %v)", i+1, r.Seq, r.ID, seen[r.ID])
			}
			seen[r.ID] = true
		}
	}
	total := 0
	for _, ids := range acked {
		for id := range ids {
			if total++; !seen[id] {
				t.Errorf("%s was acknowledged and is lost", id)
			}
		}
	}
	if total < 20*rounds {
		t.Errorf("only %d appends succeeded", total)
	}
}

// While the server is away, calls fail at once and say so.
func TestServerAway(t *testing.T) {
	server, url := own(t)
	s := mustOpen(t, url, Options{})
	_, err := s.Append(t.Context(), turns, store.Record{Data: []byte("1")})
	must(t, err)
	server.Kill()
	for range openAfter + 1 {
		if _, err := s.Read(t.Context(), turns, 0, 1); !errors.Is(err, store.ErrBusy) {
			t.Errorf("read: %v", err)
		}
	}
	began := time.Now()
	for range 100 {
		_, err := s.Append(t.Context(), turns, store.Record{Data: []byte("1")})
		if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "start PostgreSQL") {
			t.Fatalf("append: %v", err)
		}
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("100 calls took %v", d)
	}
	must(t, server.Restart())
	if !await.True(func() bool {
		_, err := s.Append(t.Context(), turns, store.Record{Data: []byte("2")})
		return err == nil
	}) {
		t.Fatal("the store does not come back")
	}
	if list, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(list) != 2 {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// A server that stands still does not hold calls for longer than the timeout.
func TestServerPaused(t *testing.T) {
	server, url := own(t)
	_, err := mustOpen(t, url, Options{}).Append(t.Context(), turns, store.Record{Data: []byte("1")})
	must(t, err)
	s := hasty(t, url, Options{Timeout: 300 * time.Millisecond})
	resume := server.Pause()
	began := time.Now()
	_, err = s.Append(t.Context(), turns, store.Record{Data: []byte("2")})
	resume()
	if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrBusy) || time.Since(began) > 30*time.Second {
		t.Errorf("append: %v after %v", err, time.Since(began))
	}
	if !await.True(func() bool {
		_, err := s.Append(t.Context(), turns, store.Record{Data: []byte("3")})
		return err == nil
	}) {
		t.Fatal("the store does not come back")
	}
	list, err := s.Read(t.Context(), turns, 0, 0)
	must(t, err)
	for i, r := range list {
		if r.Seq != int64(i+1) {
			t.Errorf("record %d has number %d", i+1, r.Seq)
		}
	}
}

var turns = store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "c1"}

// Two hosts change the same keys in opposite orders.
func TestHostsDoNotWaitInACircle(t *testing.T) {
	url := pgtest.URL(t)
	x, y := store.Key{Tenant: "t", Kind: "k", Stream: "x"}, store.Key{Tenant: "u", Kind: "k", Stream: "y"}
	var wg sync.WaitGroup
	const each = 40
	for i, keys := range [][2]store.Key{{x, y}, {y, x}} {
		s := mustOpen(t, url, Options{Pool: 4})
		for j := range 2 {
			wg.Go(func() {
				for n := range each {
					rec := store.Record{ID: fmt.Sprint(i, j, n), Data: []byte("1")}
					if err := s.Apply(t.Context(), store.Change{Key: keys[0], Put: []store.Record{rec}}, store.Change{Key: keys[1], Put: []store.Record{rec}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	s := mustOpen(t, url, Options{})
	for _, key := range []store.Key{x, y} {
		list, err := s.Read(t.Context(), key, 0, 0)
		if err != nil || len(list) != 4*each || list[len(list)-1].Seq != 4*each {
			t.Errorf("%s: %d records, %v", key, len(list), err)
		}
	}
}

// Only one of many writers with the same condition succeeds, also where there is no record yet.
func TestConditionsHoldAcrossHosts(t *testing.T) {
	url := pgtest.URL(t)
	hosts := []*Store{mustOpen(t, url, Options{}), mustOpen(t, url, Options{})}
	for round := range int64(20) {
		won, newest := make(chan int, 8), round
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				err := hosts[w%2].Apply(t.Context(), store.Change{Key: turns, IfNewest: &newest, Put: []store.Record{{Data: []byte("1")}}})
				if err == nil {
					won <- w
				} else if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("round %d: %d writers succeeded", round, len(won))
		}
	}
}

// Errors name the address without the password, what is wrong, and the remedy.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	good := strings.Replace(pgtest.URL(t), "anchor@", "anchor:pass-word@", 1)
	for name, tt := range map[string]struct {
		url  string
		is   error
		says string
	}{
		"no server":   {"postgres://anchor:pass-word@127.0.0.1:1/anchor", store.ErrBusy, "start PostgreSQL"},
		"no database": {strings.Replace(good, "/anchor?", "/nothing?", 1), nil, "createdb"},
		"no role":     {strings.Replace(good, "anchor:", "nobody:", 1), nil, "correct the user"},
		"read-only":   {good + "&default_transaction_read_only=on", store.ErrReadOnly, "primary"},
		"no URL":      {"postgres://anchor:pass-word@host:x/anchor", store.ErrInvalid, "postgres://USER@HOST/DATABASE"},
		"odd setting": {good + "&pool_max_conns=pass-word", store.ErrInvalid, "postgres://USER@HOST/DATABASE"},
		"no path":     {"store.db", store.ErrInvalid, "not a URL"},
	} {
		s, err := Open(t.Context(), tt.url, Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: it opens", name)
			continue
		}
		if text := err.Error(); tt.is != nil && !errors.Is(err, tt.is) || strings.Contains(strings.ReplaceAll(text, "pool_max_conns=pass-word", ""), "pass-word") || !strings.Contains(text, tt.says) || strings.Contains(text, "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := mustOpen(t, good, Options{})
	if text := s.fail(store.ErrBusy, "x").Error(); strings.Contains(text, "pass-word") {
		t.Error(text)
	}
}

// Only reads that may be old come from the replica.
func TestStaleReadsComeFromTheReplica(t *testing.T) {
	other := pgtest.URL(t)
	_, err := mustOpen(t, other, Options{}).Append(t.Context(), turns, store.Record{ID: "old", Data: []byte("1")})
	must(t, err)
	s := mustOpen(t, pgtest.URL(t), Options{Replica: other})
	_, err = s.Append(store.Stale(t.Context()), turns, store.Record{ID: "new", Data: []byte("1")})
	must(t, err)
	for want, ctx := range map[string]context.Context{"new": t.Context(), "old": store.Stale(t.Context())} {
		if list, err := s.Read(ctx, turns, 0, 0); err != nil || len(list) != 1 || list[0].ID != want {
			t.Errorf("have %v, %v, want %s", list, err, want)
		}
	}
	if h, err := s.Health(t.Context()); err != nil || h.Unfenced || !h.Unsafe || h.Schema != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := mustOpen(t, strings.Replace(other, "anchor@", "postgres@", 1), Options{}).Health(t.Context()); err != nil || !h.Unfenced {
		t.Errorf("as superuser: %+v, %v", h, err)
	}
}

// Callers that give up do not make the store think that the server is away.
func TestCallersThatGiveUp(t *testing.T) {
	s := mustOpen(t, pgtest.URL(t), Options{})
	for range 2 * openAfter {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := s.read(ctx, s.pool, func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "SELECT pg_sleep(60)")
			return err
		})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
	}
	if _, err := s.Append(t.Context(), turns, store.Record{Data: []byte("1")}); err != nil {
		t.Error(err)
	}
}

// A statement that takes too long ends, and has no effect.
func TestStatementTimeout(t *testing.T) {
	url := pgtest.URL(t)
	patient := mustOpen(t, url, Options{})
	_, err := patient.Append(t.Context(), turns, store.Record{Data: []byte("1")})
	must(t, err)
	c := connect(t, url)
	for _, statement := range []string{"BEGIN", "SELECT set_config('anchor.tenant', 'default', true)", "SELECT * FROM lists FOR UPDATE"} {
		_, err := c.Exec(t.Context(), statement)
		must(t, err)
	}
	if !await.Enough(200*time.Millisecond, func(limit time.Duration) bool { // for the statement to begin
		s := hasty(t, url, Options{Timeout: limit})
		_, err = s.Append(t.Context(), turns, store.Record{Data: []byte("2")})
		return errors.Is(err, store.ErrBusy) && strings.Contains(err.Error(), "store.timeout")
	}) {
		t.Errorf("append: %v", err)
	}
	_, err = c.Exec(t.Context(), "ROLLBACK")
	must(t, err)
	first, err := patient.Append(t.Context(), turns, store.Record{Data: []byte("3")})
	if must(t, err); first != 2 {
		t.Errorf("number %d", first)
	}
}
