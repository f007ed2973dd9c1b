package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// connect opens a connection of its own to the tables of a store.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// The policies hide every row of another tenant from the role of the program, which owns the tables.
func TestPoliciesKeepTenantsApart(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url, Options{})
	col := retrieve.Collection{Tenant: "a", Name: "c"}
	must(t, s.Put(t.Context(), store.Key{Tenant: "a", Kind: store.KindFact}, store.Record{ID: "f", Data: []byte(`{"content":"x y z"}`)}))
	must(t, s.Index().Create(t.Context(), col, retrieve.Settings{}))
	for _, id := range []string{"a", "b", "c", "d", "a"} { // a replaced document is dead
		must(t, s.Index().Upsert(t.Context(), col, retrieve.Document{ID: id, Chunks: []retrieve.Chunk{{Text: "w"}}}))
	}
	c := connect(t, url)
	var tables []string
	rows, err := c.Query(t.Context(), "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname <> 'schema' ORDER BY 1")
	must(t, err)
	tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	if len(tables) != len(fenced) {
		t.Errorf("tables %v, fenced are %v", tables, fenced)
	}
	for _, table := range tables {
		for tenant, sees := range map[string]bool{"a": true, "b": false, "": false, everyone: table == "lists" || table == "collections"} {
			var n int
			_, err := c.Exec(t.Context(), "SELECT set_config('anchor.tenant', $1, false)", tenant)
			must(t, err)
			must(t, c.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
			if (n > 0) != sees {
				t.Errorf("%s as %q: %d rows", table, tenant, n)
			}
		}
		if _, err := c.Exec(t.Context(), "RESET anchor.tenant"); err != nil {
			t.Fatal(err)
		}
		var n int
		if must(t, connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n)); n != 0 {
			t.Errorf("%s without a tenant: %d rows", table, n)
		}
	}
	_, err = c.Exec(t.Context(), "SELECT set_config('anchor.tenant', 'b', false)")
	must(t, err)
	if _, err := c.Exec(t.Context(), "INSERT INTO records (tenant, list, seq, time, sum, data) VALUES ('a', 1, 99, 0, 0, '1')"); code(err) != "42501" {
		t.Errorf("writing a record of another tenant: %v", err)
	}
}

// Hosts that start together make the tables once.
func TestHostsStartTogether(t *testing.T) {
	url := pgtest.URL(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := Open(t.Context(), url, Options{Pool: 2})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			if _, err := s.Append(t.Context(), turns, store.Record{Data: []byte("1")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := mustOpen(t, url, Options{}).Read(t.Context(), turns, 0, 0); err != nil || len(list) != 6 {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// later are the migrations of a later version of the program.
func later(more ...migration) []migration { return slices.Concat(migrations, more) }

// A migration that is killed half-way has done nothing, and the next start makes all of it. Hosts of the
// version before go on during and after it.
func TestMigrationKilled(t *testing.T) {
	url := pgtest.URL(t)
	old := mustOpen(t, url, Options{})
	append1 := func(s *Store) {
		t.Helper()
		_, err := s.Append(t.Context(), turns, store.Record{Data: []byte("1")})
		must(t, err)
	}
	append1(old)
	slow := later(migration{least: 1, sql: "ALTER TABLE records ADD COLUMN extra text; SELECT pg_sleep(600)"})
	failed := make(chan error)
	go func() {
		_, err := Open(context.Background(), url, Options{migrations: slow})
		failed <- err
	}()
	c := connect(t, pgtest.Shared().Admin("anchor"))
	if !await.True(func() bool {
		var n int
		err := c.QueryRow(t.Context(), "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep') x").Scan(&n)
		return err == nil && n > 0
	}) {
		t.Fatal("no migration runs")
	}
	if err := <-failed; err == nil {
		t.Fatal("a killed migration succeeded")
	}
	if v, err := old.Schema(t.Context()); err != nil || v != 1 {
		t.Errorf("schema %d, %v", v, err)
	}
	append1(old)
	young := mustOpen(t, url, Options{migrations: later(migration{least: 1, sql: "ALTER TABLE records ADD COLUMN extra text"})})
	if v, err := young.Schema(t.Context()); err != nil || v != 2 {
		t.Errorf("schema %d, %v", v, err)
	}
	append1(young)
	append1(old)
	append1(mustOpen(t, url, Options{}))
	if list, err := young.Read(t.Context(), turns, 0, 0); err != nil || len(list) != 5 {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// load is what hosts of several versions write at the same time: turns, facts and documents.
type load struct {
	t     *testing.T
	stop  chan struct{}
	all   sync.WaitGroup
	count atomic.Int64 // of what was acknowledged
	mu    sync.Mutex
	acked map[string]int64
}

// conversation is one that all hosts write to.
func conversation(n int) store.Key {
	return store.Key{Tenant: "a", Kind: "turn", Stream: fmt.Sprint("c", n%3)}
}

// write lets a host write until the load stops, or refused says that its errors are no fault.
func (l *load) write(name string, s *Store, refused func(error) bool) {
	l.all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-l.stop:
				return
			default:
			}
			id := fmt.Sprint(name, ".", i)
			seq, err := s.Append(l.t.Context(), conversation(i), store.Record{ID: id, Data: []byte("1")})
			if err == nil && i%5 == 0 {
				err = errors.Join(
					s.Put(l.t.Context(), store.Key{Tenant: "a", Kind: store.KindFact}, store.Record{ID: id, Data: []byte(`{"content":"x y z"}`)}),
					s.Index().Upsert(l.t.Context(), retrieve.Collection{Tenant: "a", Name: "docs"}, retrieve.Document{ID: id, Chunks: []retrieve.Chunk{{Text: "written by " + name}}}))
			}
			switch {
			case refused != nil && err != nil && refused(err):
				return
			case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrConflict):
			case err != nil:
				l.t.Errorf("%s: %v", id, err)
				return
			}
			if seq > 0 {
				l.count.Add(1)
				l.mu.Lock()
				l.acked[id] = seq
				l.mu.Unlock()
			}
		}
	})
}

// more waits until some more was acknowledged.
func (l *load) more() {
	l.t.Helper()
	before := l.count.Load()
	if !await.True(func() bool { return l.count.Load() > before+40 || l.t.Failed() }) {
		l.t.Fatal("the hosts do not go on")
	}
}

// Hosts of one version write while one of the next version makes its migrations, and both go on beside each other; a
// host that goes back to the version before does, too. Only the version after that refuses the first one, whose hosts
// say so.
func TestVersionsBesideEachOther(t *testing.T) {
	url := pgtest.URL(t)
	second := later(migration{least: 1, sql: `ALTER TABLE records ADD COLUMN origin text NOT NULL DEFAULT 'here'; CREATE INDEX records_origin ON records (list, origin);
		CREATE TABLE origins (name text PRIMARY KEY); ALTER TABLE documents ADD COLUMN origin text`})
	third := append(slices.Clone(second), migration{least: 2, sql: `DROP TABLE origins`})
	l := &load{t: t, stop: make(chan struct{}), acked: map[string]int64{}}
	end := sync.OnceFunc(func() {
		close(l.stop)
		l.all.Wait()
	})
	defer end()
	old := mustOpen(t, url, Options{Pool: 4})
	must(t, old.Index().Create(t.Context(), retrieve.Collection{Tenant: "a", Name: "docs"}, retrieve.Settings{}))
	tooOld := func(err error) bool { return errors.Is(err, store.ErrVersion) }
	l.write("old", old, tooOld)
	l.write("old too", mustOpen(t, url, Options{Pool: 4}), tooOld)
	l.more()
	young := mustOpen(t, url, Options{Pool: 4, migrations: second})
	l.write("young", young, nil)
	l.more()
	if v, err := old.Schema(t.Context()); err != nil || v != len(second) {
		t.Errorf("schema %d, %v", v, err)
	}
	l.write("back", mustOpen(t, url, Options{Pool: 4}), tooOld)
	l.more()
	newest := mustOpen(t, url, Options{Pool: 4, migrations: third})
	l.write("newest", newest, nil)
	l.more()
	if _, err := Open(t.Context(), url, Options{}); !tooOld(err) {
		t.Errorf("the first version beside the third: %v", err)
	}
	old.pool.Reset() // as after ten minutes: each new connection looks at the version
	if _, err := old.Read(t.Context(), conversation(0), 0, 1); !tooOld(err) || !strings.Contains(err.Error(), "newer anchor-host") {
		t.Errorf("a host of the first version that runs: %v", err)
	}
	l.more()
	end()
	seen := map[string]int64{}
	for n := range 3 {
		list, err := young.Read(t.Context(), conversation(n), 0, 0)
		must(t, err)
		for i, r := range list {
			if r.Seq != int64(i+1) || seen[r.ID] != 0 {
				t.Fatalf("record %d has number %d and ID %s", i+1, r.Seq, r.ID)
			}
			seen[r.ID] = r.Seq
		}
	}
	for id, seq := range l.acked {
		if seen[id] != seq {
			t.Errorf("%s was acknowledged as number %d, and has %d", id, seq, seen[id])
		}
	}
	must(t, newest.Check(t.Context()))
}

// A program that is too old says so.
func TestNewerSchema(t *testing.T) {
	url := pgtest.URL(t)
	must(t, mustOpen(t, url, Options{}).Close())
	pgtest.Shared().Exec(t, url, "UPDATE schema SET version = 9, least = 9")
	if _, err := Open(t.Context(), url, Options{}); !errors.Is(err, store.ErrVersion) || !strings.Contains(err.Error(), "newer anchor-host") {
		t.Errorf("open: %v", err)
	}
}

// A damaged record is reported, and the others can be read and it can be deleted.
func TestDamagedRecord(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url, Options{})
	_, err := s.Append(t.Context(), turns, store.Record{ID: "a", Data: []byte("1")}, store.Record{ID: "b", Data: []byte("2")}, store.Record{ID: "c", Data: []byte("3")})
	must(t, err)
	must(t, s.Check(t.Context()))
	pgtest.Shared().Exec(t, url, "UPDATE records SET data = '9' WHERE id = 'b'")
	var damaged *store.CorruptError
	if list, err := s.Read(t.Context(), turns, 0, 0); !errors.As(err, &damaged) || damaged.ID != "b" || len(list) != 1 {
		t.Errorf("read: %d records, %v", len(list), err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("check: %v", err)
	}
	n, err := s.Delete(t.Context(), turns, "b")
	if must(t, err); n != 1 {
		t.Errorf("%d records deleted", n)
	}
	must(t, s.Check(t.Context()))
}
