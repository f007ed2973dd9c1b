package host

import (
	"reflect"
	"testing"
)

// Each limit that is stated is the one that counts, and each that is not is the default.
func TestEachLimitHasADefault(t *testing.T) {
	if n := reflect.TypeFor[Limits]().NumField(); n != len(limits) {
		t.Fatalf("%d limits, %d are described", n, len(limits))
	}
	for i := range reflect.TypeFor[Limits]().NumField() {
		var stated, other Limits
		reflect.ValueOf(&stated).Elem().Field(i).SetInt(7)
		reflect.ValueOf(&other).Elem().Field(i).SetInt(9)
		if got := (Limits{}).or(stated); got != stated {
			t.Errorf("default %+v, got %+v", stated, got)
		}
		if got := stated.or(other); got != stated {
			t.Errorf("stated %+v, default %+v, got %+v", stated, other, got)
		}
	}
}

// Where a limit takes a word, a number is in force.
func TestWordsAreNumbersInForce(t *testing.T) {
	for i := range reflect.TypeFor[Limits]().NumField() {
		for _, word := range []int64{Unlimited, None} {
			var stated Limits
			reflect.ValueOf(&stated).Elem().Field(i).SetInt(word)
			if stated.Check() != nil {
				continue
			}
			if n := reflect.ValueOf(stated.inForce(8)).Field(i).Int(); n < 0 {
				t.Errorf("%s %d is %d in force", reflect.TypeFor[Limits]().Field(i).Name, word, n)
			}
		}
	}
}
