package anchor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Whoever deletes turns cancels the promotion that reads them, and waits for its end.
func TestDeletionsEndPromotions(t *testing.T) {
	for name, remove := range map[string]func(context.Context, *App, *Conversation) error{
		"delete": func(ctx context.Context, _ *App, c *Conversation) error { _, err := c.Delete(ctx, 1); return err },
		"forget": func(ctx context.Context, _ *App, c *Conversation) error { _, err := c.Forget(ctx); return err },
		"tenant": func(ctx context.Context, a *App, _ *Conversation) error {
			_, err := a.ForgetTenant(ctx, "acme")
			return err
		},
	} {
		app := load(t, basic)
		talk, err := app.Conversation(t.Context(), "acme", "c")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := talk.Add(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: "x"}); err != nil {
			t.Fatal(err)
		}
		ctx, end := app.promoting.try(t.Context(), promotionKey{"acme", "c"})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := remove(short, app, talk); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s while a promotion runs: %v", name, err)
		}
		cancel()
		if !errors.Is(context.Cause(ctx), errDeleted) {
			t.Errorf("%s: the promotion goes on: %v", name, context.Cause(ctx))
		}
		if turns, err := talk.Turns(t.Context(), 0, 0); err != nil || len(turns) != 1 {
			t.Errorf("%s: %d turns while the promotion runs, %v", name, len(turns), err)
		}
		end()
		if err := remove(t.Context(), app, talk); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if turns, err := talk.Turns(t.Context(), 0, 0); err != nil || len(turns) != 0 {
			t.Errorf("%s: %d turns left, %v", name, len(turns), err)
		}
	}
}

func TestOnePromotionOfAConversation(t *testing.T) {
	app := load(t, basic+"memory: {facts: {extract: {use: gone}}}\n")
	_, end := app.promoting.try(t.Context(), promotionKey{"default", "c"})
	if _, again := app.promoting.try(t.Context(), promotionKey{"default", "c"}); again != nil {
		t.Error("two promotions after builds")
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := app.Promote(short, "c", PromoteOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("promotes while another promotion runs: %v", err)
	}
	end()
}

func TestFailedPromotionsAreDelayed(t *testing.T) {
	var p promotions
	key := promotionKey{"t", "c"}
	p.note(key, errDeleted)
	if _, end := p.try(t.Context(), key); end != nil {
		t.Error("a promotion right after a failure")
	}
	first := p.failed[key].until
	for range 100 {
		p.note(key, errDeleted)
	}
	if d := time.Until(p.failed[key].until); !p.failed[key].until.After(first) || d > maxBackoff {
		t.Errorf("delay %v", d)
	}
	p.note(key, nil)
	_, end := p.try(t.Context(), key)
	if end == nil {
		t.Fatal("no promotion after a success")
	}
	end()
	for i := range 2 * maxBackoffs {
		p.note(promotionKey{"t", time.Duration(i).String()}, errDeleted)
	}
	if n := len(p.failed); n > maxBackoffs {
		t.Errorf("%d delays", n)
	}
}

// Close gives up promotions when its context ends.
func TestCloseCancelsPromotions(t *testing.T) {
	app := load(t, basic)
	g, err := app.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := app.promoting.try(t.Context(), promotionKey{"t", "c"})
	go func() {
		<-ctx.Done()
		end()
		g.Release()
	}()
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := app.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, end := app.promoting.try(t.Context(), promotionKey{"t", "d"}); end != nil {
		t.Error("a promotion begins after Close")
	}
}
