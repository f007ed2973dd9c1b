package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func newCalibration(t testing.TB, low, high float64) *Calibration {
	t.Helper()
	c, err := NewCalibration(low, high)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ExampleCalibration() {
	c, _ := NewCalibration(0.9, 1.6)
	fmt.Println(c.Factors())
	for _, observed := range []int{1180, 1210, 1195, 1204, 1188} {
		c.Observe(1000, observed) // usage.input_tokens of five answers
	}
	low, high := c.Factors()
	fmt.Printf("%.2f %.2f\n", low, high)
	// Output:
	// 0.9 1.6
	// 1.10 1.29
}

func TestCalibrationNarrowsAndHoldsWhatItSaw(t *testing.T) {
	c := newCalibration(t, 0.9, 1.6)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		observed := 1150 + r.IntN(100)
		if !c.Observe(1000, observed) {
			t.Fatalf("%d is refused", observed)
		}
		low, high := c.Factors()
		if f := float64(observed) / 1000; f < low || f > high {
			t.Fatalf("%v is outside of %v to %v", f, low, high)
		}
		if width := high - low; i >= 20 && width > 0.35 {
			t.Fatalf("after %d observations the interval is %v wide", i+1, width)
		}
	}
	if n := c.Observations(); n != calibrationWindow {
		t.Errorf("%d observations, want %d", n, calibrationWindow)
	}
	c.Observe(1000, 1500) // another kind of text
	if _, high := c.Factors(); high < 1.5 {
		t.Errorf("the upper end is %v after a factor of 1.5", high)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	c := newCalibration(t, 1, 1.5)
	for _, o := range [][2]int{{199, 250}, {0, 10}, {1000, 0}, {1000, -5}, {1000, 499}, {1000, 3001}} {
		if c.Observe(o[0], o[1]) {
			t.Errorf("%v is used", o)
		}
	}
	if low, high := c.Factors(); low != 1 || high != 1.5 || c.Observations() != 0 {
		t.Errorf("factors %v to %v after %d observations", low, high, c.Observations())
	}
	for _, f := range [][2]float64{{0, 1}, {-1, 1}, {2, 1}} {
		if _, err := NewCalibration(f[0], f[1]); err == nil {
			t.Errorf("%v is accepted", f)
		}
	}
}

func TestEstimator(t *testing.T) {
	base := mustGet(t, "o200k_base")
	e := NewEstimator("claude-3", base, newCalibration(t, 0.9, 1.6))
	if want := "claude-3 (estimate: o200k_base x 0.90 to 1.60, upper end)"; e.Name() != want {
		t.Errorf("name %q, want %q", e.Name(), want)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	exact, err := base.Count(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Count(t.Context(), text, "")
	if err != nil || got[0] != Scale(exact[0], 1.6) || got[1] != 0 {
		t.Errorf("%v, %v for %d base tokens", got, err, exact[0])
	}
	if low, high := e.Interval(100); low != 90 || high != 160 {
		t.Errorf("interval %d to %d, want 90 to 160", low, high)
	}
	for limit := range 60 {
		cut, err := e.Truncate(t.Context(), text, limit)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := e.Count(t.Context(), cut); err != nil || n[0] > limit {
			t.Errorf("cut to %d tokens has %v, %v", limit, n, err)
		}
	}
}

func TestCalibrationUnderConcurrency(t *testing.T) {
	c := newCalibration(t, 1, 2)
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for j := range 100 {
				c.Observe(1000, 1200+10*i+j)
				if low, high := c.Factors(); low > high {
					t.Error(low, high)
				}
			}
		})
	}
	running.Wait()
}
