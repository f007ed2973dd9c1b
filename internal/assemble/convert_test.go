package assemble

import (
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Each limit of the host can be configured, and reaches it.
func TestEachLimitReachesTheHost(t *testing.T) {
	fields := reflect.TypeFor[host.Limits]()
	if n := reflect.TypeFor[config.Limits]().NumField(); n != fields.NumField() {
		t.Fatalf("%d limits can be configured, the host has %d", n, fields.NumField())
	}
	for i := range fields.NumField() {
		var stated config.Limits
		field := reflect.ValueOf(&stated).Elem().FieldByName(fields.Field(i).Name)
		if !field.IsValid() {
			t.Errorf("%s cannot be configured", fields.Field(i).Name)
			continue
		}
		field.SetInt(7)
		var want host.Limits
		reflect.ValueOf(&want).Elem().Field(i).SetInt(7)
		if got := Limits(stated); got != want {
			t.Errorf("%s: configured %+v, the host gets %+v", fields.Field(i).Name, stated, got)
		}
	}
}
