package memory

import (
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Facts expire by the clock as it is: one that is set back brings back what nobody has deleted, and one
// that was ahead for a while harms no fact that does not expire. All goes on meanwhile.
func TestFactsWhenTheClockJumps(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		now := epoch
		m := newManager(t, Config{Facts: f, Now: func() time.Time { return now }})
		stays := mustAdd(t, m, Entry{Content: "tea stays"})
		mustAdd(t, m, Entry{Content: "tea expires", ExpiresAt: epoch.Add(30 * time.Minute)})
		for i, jump := range []time.Duration{0, time.Hour, -time.Hour, 876_000 * time.Hour, 0} {
			now = epoch.Add(jump)
			want := []string{"tea expires", "tea stays"}
			if jump > 0 {
				want = want[1:]
			}
			list, err := m.List(t.Context(), Filter{})
			got := contents(list)
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("at %v from then: %q, %v, want %q", jump, got, err, want)
			}
			if err := m.Touch(t.Context(), stays.ID); err != nil {
				t.Errorf("at %v from then: touch: %v", jump, err)
			}
			scored, err := m.Relevant(t.Context(), &pipeline.Query{Text: "tea"}, 10, Filter{})
			if err != nil || len(scored) != len(want) {
				t.Errorf("at %v from then: %d facts are found, %v, want %d", jump, len(scored), err, len(want))
			}
			for _, s := range scored {
				if !(s.Score > 0 && s.Score <= 1) {
					t.Errorf("at %v from then: %q has the score %v, want above 0 and at most 1", jump, s.Entry.Content, s.Score)
				}
			}
			if got, err := m.Edit(t.Context(), stays.ID, func(e *Entry) { e.Tags = []string{"edited"} }); err != nil || got.AccessCount != i+1 {
				t.Errorf("at %v from then: edit: %+v, %v, want %d uses", jump, got, err, i+1)
			}
			// What is not old by any clock is not thrown away for its age.
			if jump <= 0 {
				if got, err := m.Collect(t.Context(), Collector{Threshold: 0.1, Decay: Linear{}}, true); err != nil || got.Decayed != 0 || got.Expired != 0 {
					t.Errorf("at %v from then: collects %+v, %v, want nothing", jump, got, err)
				}
			}
		}
	})
}
