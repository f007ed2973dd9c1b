// Package values copies and rounds the values of items and documents.
package values

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Milliseconds returns a duration in milliseconds, to two decimals.
func Milliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Nanoseconds())/1e4) / 1e2
}

// Round4 rounds to 4 decimals, exact halves to even.
func Round4(x float64) float64 {
	var buf [32]byte
	rounded, err := strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], x, 'f', 4, 64)), 64)
	if err != nil {
		return x
	}
	return rounded
}

// Clone returns a deep copy of metadata. nil stays nil.
func Clone(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = CloneValue(v)
	}
	return out
}

// CloneValue copies a value. The kinds that metadata may hold need no reflection; maps and
// slices of other types do. The copy shares what pointers point to.
func CloneValue(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, int:
		return v
	case map[string]any:
		return Clone(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = CloneValue(out[i])
		}
		return out
	case []string:
		return slices.Clone(v)
	case map[string]string:
		return maps.Clone(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Map || r.Kind() == reflect.Slice {
		return cloneReflected(r).Interface()
	}
	return v
}

func cloneReflected(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(it.Key(), cloneReflected(it.Value()))
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cloneReflected(v.Index(i)))
		}
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(cloneReflected(v.Elem()))
		return out
	}
	return v
}

// Add adds counts without overflow, because items may claim any count. b is 0 or more.
func Add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// Indices returns 0 to n-1.
func Indices(n int) []int32 {
	indices := make([]int32, n)
	for i := range indices {
		indices[i] = int32(i)
	}
	return indices
}

// LongestKept is the length up to which a build keeps a list for the next build.
const LongestKept = 1 << 14

// Numbers returns n numbers of arbitrary value. It uses and grows the kept list, unless n
// exceeds LongestKept.
func Numbers[T any](kept *[]T, n int) []T {
	switch {
	case n > LongestKept:
		return make([]T, n)
	case n > cap(*kept):
		*kept = make([]T, n, n+n/4)
	}
	return (*kept)[:n]
}
