package request

import (
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// Each member of the window that a request states is in the configuration of its build.
func TestEachMemberOfTheWindowCounts(t *testing.T) {
	of := reflect.TypeFor[config.Window]()
	if of.NumField() < 9 {
		t.Fatalf("the window has %d members, want all", of.NumField())
	}
	for i := range of.NumField() {
		var r Request
		stated := reflect.ValueOf(&r.Window).Elem().Field(i)
		fill(t, stated)
		got := reflect.ValueOf(r.over(config.Config{}).Window).Field(i)
		if !reflect.DeepEqual(got.Interface(), stated.Interface()) {
			t.Errorf("%s: the build has %v, want %v", of.Field(i).Name, got, stated)
		}
	}
}

// fill gives a member any value but its zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a member of kind %s: teach the test", v.Kind())
	}
}
