package learned

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/storefault"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// Whichever call to the store fails while a session is learned from: who hands over its turns again, as the next hook
// does, gets the facts and what they replace as without a fault.
func TestTurnsAfterAFault(t *testing.T) {
	whole := ""
	for n := -1; ; n++ {
		got, failed := turnsWithAFault(t, n)
		switch {
		case n < 0:
			whole = got
		case got != whole:
			t.Errorf("call %d fails:\n%swant\n%s", n, got, whole)
		case !failed:
			if n < 5 {
				t.Errorf("only %d calls", n)
			}
			return
		}
	}
}

func turnsWithAFault(t *testing.T, n int) (notes string, failed bool) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, now := storefault.New(s), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	m := over(t, b, Options{Now: func() time.Time { return now }, Extractor: memory.ExtractFunc(func(context.Context, []pipeline.Turn, []memory.Entry) (memory.Extraction, error) {
		return memory.Extraction{Add: []memory.Entry{{Content: "The cache holds seven entries."}}}, nil
	})})
	learn(t, m, shop, User, "The server listens on port 8080.")
	said := []Said{{Source: User, Text: "Remember that the server listens on port 9090."}, {Source: User, Text: "Remember that logs go to stderr."}}
	b.After(n)
	_, err = m.Turns(t.Context(), shop, "s", said)
	if failed = b.After(-1); err != nil {
		if !failed {
			t.Fatal(err)
		}
		if _, err := m.Turns(t.Context(), shop, "s", said); err != nil {
			t.Errorf("call %d fails, and again: %v", n, err)
		}
	}
	list, err := m.Review(t.Context(), Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		notes += fmt.Sprintf("%s: supersedes %d, is superseded %t\n", one.Text, len(one.Supersedes), one.SupersededBy != "")
	}
	turns, err := conversation.NewLog(s, store.DefaultTenant, m.conversation(shop, "s")).Turns(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return notes + fmt.Sprintln(len(turns), "turns"), failed
}

// While an extractor works, a second hook hands over the same session, further on. Each turn is stored once.
func TestTurnsAtOnce(t *testing.T) {
	said := []Said{{Source: User, Text: "one"}, {Source: User, Text: "two"}, {Source: User, Text: "three"}}
	quick := open(t, Options{})
	m := over(t, quick.store, Options{Extractor: memory.ExtractFunc(func(ctx context.Context, _ []pipeline.Turn, _ []memory.Entry) (memory.Extraction, error) {
		_, err := quick.Turns(ctx, shop, "s", said)
		return memory.Extraction{}, err
	})})
	if done, err := m.Turns(t.Context(), shop, "s", said[:2]); err != nil || done.Turns != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	turns, err := conversation.NewLog(m.store, store.DefaultTenant, m.conversation(shop, "s")).Turns(t.Context(), 0, 0)
	if err != nil || len(turns) != 3 || turns[2].Content != "three" {
		t.Errorf("%+v, %v", turns, err)
	}
}

// A model that says nothing does not keep the turns of a session, and the facts beside it, from being stored.
func TestExtractedWithoutText(t *testing.T) {
	m := open(t, Options{Extractor: memory.ExtractFunc(func(context.Context, []pipeline.Turn, []memory.Entry) (memory.Extraction, error) {
		return memory.Extraction{Add: []memory.Entry{{Content: " "}, {Content: "\xff"}, {Content: "The user works at night."}}}, nil
	})})
	done, err := m.Turns(t.Context(), shop, "s", []Said{{Source: User, Text: "hello"}})
	if want := (Kept{Turns: 1, Added: 1, Refused: 2}); err != nil || done != want {
		t.Errorf("%+v, %v", done, err)
	}
}

// Turns that are longer in JSON than one write may be are stored as well.
func TestLongTurns(t *testing.T) {
	m, said := open(t, Options{}), make([]Said, 400)
	for i := range said {
		said[i] = Said{Source: User, Text: strings.Repeat("<", MaxTurnText)}
	}
	if done, err := m.Turns(t.Context(), shop, "s", said); err != nil || done.Turns != len(said) {
		t.Errorf("%+v, %v", done, err)
	}
}
