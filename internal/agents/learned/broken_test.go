package learned

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/storefault"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
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
	m := over(t, b, Options{Now: func() time.Time { return now }})
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
