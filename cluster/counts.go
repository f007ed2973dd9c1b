package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// classes is the number of classes of a [Spread].
const classes = 256

// perDouble is the number of classes between a value and its double.
const perDouble = 8

// Spread counts values by classes, of which each reaches 9 percent further than the one before it.
type Spread [classes]int64

// classOf returns the class of a value: those above 2^((class-1)/8) up to 2^(class/8). Values up to 1 are in
// class 0, and values above 2^32 in the last one.
func classOf(v int64) int {
	if v <= 1 {
		return 0
	}
	c := int(math.Ceil(perDouble * math.Log2(float64(v))))
	return min(c, classes-1)
}

// Add counts a value.
func (s *Spread) Add(v int64) { s[classOf(v)]++ }

// sum returns the number of values, and of those above each class.
func (s *Spread) sum() (total int64, above [classes]int64) {
	for i := classes - 1; i >= 0; i-- {
		above[i] = total
		total += s[i]
	}
	return total, above
}

// Quantile returns the upper end of the class that a share of the values does not exceed, 0 without values.
func (s *Spread) Quantile(share float64) float64 {
	total, above := s.sum()
	if total == 0 {
		return 0
	}
	for i := range s {
		if float64(total-above[i]) >= share*float64(total) {
			return math.Exp2(float64(i) / perDouble)
		}
	}
	return math.Exp2((classes - 1) / perDouble)
}

// MarshalJSON writes the classes that have values, as pairs of class and number.
func (s Spread) MarshalJSON() ([]byte, error) {
	pairs := [][2]int64{}
	for i, n := range s {
		if n != 0 {
			pairs = append(pairs, [2]int64{int64(i), n})
		}
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Spread) UnmarshalJSON(data []byte) error {
	var pairs [][2]int64
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	*s = Spread{}
	for _, p := range pairs {
		if p[0] < 0 || p[0] >= classes || p[1] < 0 || p[1] > math.MaxInt64>>16 {
			return fmt.Errorf("%w: class %d with %d values", ErrInvalid, p[0], p[1])
		}
		s[p[0]] = p[1]
	}
	return nil
}

// Counts are what was measured of the builds of a version.
type Counts struct {
	// Builds is the number of builds, without those whose request was at fault, and Failed that of those
	// that failed or continued without a step.
	Builds int64 `json:"builds"`
	Failed int64 `json:"failed"`
	// Latency is the time of the builds in microseconds, and Fuel what their plugins have used, in
	// thousands.
	Latency Spread `json:"latency"`
	Fuel    Spread `json:"fuel"`
}

// Add counts a build.
func (c *Counts) Add(failed bool, took time.Duration, fuel int64) {
	c.Builds++
	if failed {
		c.Failed++
	}
	c.Latency.Add(took.Microseconds())
	c.Fuel.Add(fuel / 1000)
}

// plus adds the counts of another host. Numbers that no host can have measured are left out.
func (c *Counts) plus(o *Counts) {
	const most = 1 << 50
	if o.Builds < 0 || o.Failed < 0 || o.Failed > o.Builds || bits.Len64(uint64(c.Builds+o.Builds)) > 52 || o.Builds > most {
		return
	}
	c.Builds, c.Failed = c.Builds+o.Builds, c.Failed+o.Failed
	for i := range c.Latency {
		c.Latency[i] += o.Latency[i]
		c.Fuel[i] += o.Fuel[i]
	}
}
