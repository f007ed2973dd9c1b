package strictjson

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// The fast way of reading a number rounds as ParseFloat does, also next to the middle of two numbers.
func TestSingle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(text string) {
		got, err := single(text)
		want, wantErr := strconv.ParseFloat(text, 32)
		if math.Float32bits(got) != math.Float32bits(float32(want)) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	}
	for _, text := range []string{"", "0", "-0", "-0.0", "16777217", "16777219", "-16777217.0", "16777217.000000001", "9007199254740993", "9007199254740991", "1e5", "0.00000000000000001", "999999999999999999", "3.4028236e38", "1e39"} {
		check(text)
	}
	for range 20_000 {
		f := float64(math.Float32frombits(random.Uint32()&(1<<27-1) | 0x38000000))
		middle := (f + float64(math.Nextafter32(float32(f), 9e9))) / 2
		for _, number := range []float64{f, middle, math.Nextafter(middle, 0), math.Nextafter(middle, 9e9)} {
			check(strconv.FormatFloat(number, 'f', -1, 64))
			check(strconv.FormatFloat(-number, 'f', random.IntN(17), 64))
		}
		check(strconv.FormatFloat(f, 'g', -1, 32))
	}
}
