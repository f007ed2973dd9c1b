package plugincmd

import (
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Each limit that can be configured is shown, with what the instance states.
func TestInspectShowsEachLimit(t *testing.T) {
	fields := reflect.TypeFor[config.Limits]()
	if n := len(limitLines(manifest.LimitRequest{}, nil)); n != fields.NumField() {
		t.Errorf("%d limits are shown, %d can be configured", n, fields.NumField())
	}
	for i := range fields.NumField() {
		var instance config.Instance
		reflect.ValueOf(&instance.Limits).Elem().Field(i).SetInt(7)
		for _, line := range limitLines(manifest.LimitRequest{}, &instance) {
			if own := line.Limit == fields.Field(i).Tag.Get("key"); own != (line.Set != "") || line.Default == "" {
				t.Errorf("%s is stated, the report says %+v", fields.Field(i).Name, line)
			}
		}
	}
}
