package plugin

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func settings(t testing.TB, change func(*Settings)) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ExampleSettings_Score() {
	s := Settings{HalfLife: "72h", Weight: 0.5}
	if err := s.Validate(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Score(0.8, now.Add(-72*time.Hour), now))
	// Output: 0.65
}

func TestScore(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       Settings
		score   float64
		created time.Time
		want    float64
	}{
		{"now", Settings{HalfLife: "1d", Weight: 0.5}, 0.4, now, 0.7},
		{"one half-life", Settings{HalfLife: "1d", Weight: 0.5}, 0.4, now.Add(-24 * time.Hour), 0.45},
		{"two half-lives", Settings{HalfLife: "24h", Weight: 1}, 0.4, now.Add(-48 * time.Hour), 0.25},
		{"the future", Settings{HalfLife: "1w", Weight: 1}, 0, now.Add(time.Hour), 1},
		{"unknown", Settings{HalfLife: "1w", Weight: 0.5, Missing: 0.2}, 0.6, time.Time{}, 0.4},
		{"no weight", Settings{HalfLife: "1w"}, 0.6, now.Add(-time.Hour), 0.6},
		{"before the ages a duration can hold", Settings{HalfLife: "1s", Weight: 1}, 1, time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), 0},
		{"a score beyond the range", Settings{HalfLife: "1w"}, 1.5, now, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.s.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := c.s.Score(c.score, c.created, now); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestNewerIsNeverLower(t *testing.T) {
	s := settings(t, func(s *Settings) { s.HalfLife = "1h" })
	last := 0.0
	for age := 1000 * time.Hour; age >= -time.Hour; age -= time.Hour {
		got := s.Score(0.5, now.Add(-age), now)
		if got < last || got > 1 {
			t.Fatalf("age %v: %v after %v", age, got, last)
		}
		last = got
	}
}

func TestTime(t *testing.T) {
	clock := func() time.Time { return now }
	if got := settings(t, func(*Settings) {}).Time(clock); !got.Equal(now) {
		t.Errorf("got %v, want the clock", got)
	}
	s := settings(t, func(s *Settings) { s.Now = "2020-02-29T00:00:00+01:00" })
	if got := s.Time(clock); got.Year() != 2020 {
		t.Errorf("got %v, want the setting", got)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(s *Settings) { s.HalfLife = "" }, `half_life ""`},
		{func(s *Settings) { s.HalfLife = "0h" }, `half_life "0h"`},
		{func(s *Settings) { s.HalfLife = "-3d" }, `half_life "-3d"`},
		{func(s *Settings) { s.HalfLife = "1e30w" }, `half_life "1e30w"`},
		{func(s *Settings) { s.HalfLife = "NaNd" }, `half_life "NaNd"`},
		{func(s *Settings) { s.HalfLife = "soon" }, `half_life "soon": not a duration above 0`},
		{func(s *Settings) { s.Weight = 2 }, "weight 2: not within 0..1"},
		{func(s *Settings) { s.Missing = math.NaN() }, "missing NaN: not within 0..1"},
		{func(s *Settings) { s.Now = "yesterday" }, `now "yesterday": not a time in RFC 3339`},
	} {
		var s Settings
		s.Defaults()
		c.change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
