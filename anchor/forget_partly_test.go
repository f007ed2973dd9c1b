package anchor

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// failing is a store whose writes fail after some more of them.
type failing struct {
	store.Store
	on    bool
	after int
}

func (f *failing) broken() error {
	if !f.on { // others write at the same time
		return nil
	}
	if f.after == 0 {
		return store.ErrBusy
	}
	f.after--
	return nil
}

func (f *failing) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if err := f.broken(); err != nil {
		return 0, err
	}
	return f.Store.Append(ctx, key, recs...)
}

func (f *failing) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if err := f.broken(); err != nil {
		return err
	}
	return f.Store.Put(ctx, key, rec)
}

func (f *failing) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	if err := f.broken(); err != nil {
		return 0, err
	}
	return f.Store.Delete(ctx, key, ids...)
}

func (f *failing) Clear(ctx context.Context, key store.Key) (int, error) {
	if err := f.broken(); err != nil {
		return 0, err
	}
	return f.Store.Clear(ctx, key)
}

func (f *failing) Apply(ctx context.Context, changes ...store.Change) error {
	if err := f.broken(); err != nil {
		return err
	}
	return f.Store.Apply(ctx, changes...)
}

// A deletion that the store ends in the middle does not say that nothing was deleted, whichever write fails, and to
// delete again completes it.
func TestForgetPartlyIsNotBusy(t *testing.T) {
	for name, forget := range map[string]func(context.Context, *App) error{
		"conversation": func(ctx context.Context, app *App) error {
			talk, err := app.Conversation(ctx, "", "chat-ann")
			if err == nil {
				_, err = talk.Forget(ctx)
			}
			return err
		},
		"run": func(ctx context.Context, app *App) error {
			run, err := app.Run(ctx, "", "run-ann")
			if err == nil {
				_, err = run.Forget(ctx)
			}
			return err
		},
		"user": func(ctx context.Context, app *App) error {
			_, err := app.ForgetUser(ctx, "", "ann")
			return err
		},
		"tenant": func(ctx context.Context, app *App) error {
			_, err := app.ForgetTenant(ctx, store.DefaultTenant)
			return err
		},
		"facts": func(ctx context.Context, app *App) error {
			_, err := app.ForgetFacts(ctx, "", memory.Filter{UserID: "ann"})
			return err
		},
		"builds": func(ctx context.Context, app *App) error {
			_, err := app.RemoveBuilds(ctx, "")
			return err
		},
	} {
		partly := 0 // how often the test has seen what it is about
		for after := 0; ; after++ {
			s := &failing{Store: store.NewMemory()}
			app, err := Load(write(t, t.TempDir(), usersConfig), Options{Store: s, CacheDir: "off"})
			if err != nil {
				t.Fatal(err)
			}
			fillUser(t, app, "ann")
			if err := app.FlushRecords(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := records(t, s)
			s.on, s.after = true, after
			err = forget(t.Context(), app)
			left := records(t, s) != before
			if err == nil {
				break
			}
			if left && !errors.Is(err, store.ErrUnknown) || !errors.Is(err, store.ErrBusy) {
				t.Errorf("%s, write %d fails: %v, and a part is deleted: %v", name, after, err, left)
			}
			if left {
				partly++
			}
			s.on = false
			if err := forget(t.Context(), app); err != nil {
				t.Errorf("%s, write %d failed, again: %v", name, after, err)
			}
		}
		if partly == 0 && name != "facts" {
			t.Errorf("%s: no write left a part", name)
		}
	}
}

// records counts what the store has.
func records(t *testing.T, s store.Store) int {
	t.Helper()
	var out bytes.Buffer
	if err := store.Export(t.Context(), s, &out, store.DefaultTenant); err != nil {
		t.Fatal(err)
	}
	return bytes.Count(out.Bytes(), []byte("\n"))
}
