package plugincmd

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Each limit that can be configured is shown, with what the instance states.
func TestInspectShowsEachLimit(t *testing.T) {
	lines := func(asked manifest.LimitRequest, instance *config.Instance) ([]limitLine, []string) {
		t.Helper()
		out, cut, err := limitLines(&spec.Spec{Manifest: &manifest.Manifest{Limits: asked}}, asked, instance)
		if err != nil {
			t.Fatal(err)
		}
		return out, cut
	}
	fields := reflect.TypeFor[config.Limits]()
	if all, cut := lines(manifest.LimitRequest{}, nil); len(all) != fields.NumField() || cut != nil {
		t.Errorf("%d limits are shown, %d can be configured; %v", len(all), fields.NumField(), cut)
	}
	for i := range fields.NumField() {
		var instance config.Instance
		reflect.ValueOf(&instance.Limits).Elem().Field(i).SetInt(7)
		all, _ := lines(manifest.LimitRequest{}, &instance)
		for _, line := range all {
			if own := line.Limit == fields.Field(i).Tag.Get("key"); own != (line.Set != "") || line.Default == "" || line.InForce == "" {
				t.Errorf("%s is stated, the report says %+v", fields.Field(i).Name, line)
			}
		}
	}
	all, _ := lines(manifest.LimitRequest{}, &config.Instance{Limits: config.Limits{Instances: 2, MinInstances: 8}})
	if i := slices.IndexFunc(all, func(l limitLine) bool { return l.Limit == "min_instances" }); all[i].InForce != "2" {
		t.Errorf("8 of 2 instances are made ahead: in force %q, want 2", all[i].InForce)
	}
	timeout := func(asked string, set time.Duration) (string, []string) {
		all, cut := lines(manifest.LimitRequest{Timeout: asked}, &config.Instance{Limits: config.Limits{Timeout: config.Duration(set)}})
		return all[slices.IndexFunc(all, func(l limitLine) bool { return l.Limit == "timeout" })].InForce, cut
	}
	for _, c := range []struct {
		asked   string
		set     time.Duration
		inForce string
		given   bool
	}{{"", 0, "2s", true}, {"5s", 0, "5s", true}, {"20s", 0, "8s", false}, {"20s", 15 * time.Second, "15s", true}} {
		if got, cut := timeout(c.asked, c.set); got != c.inForce || (len(cut) == 0) != c.given || !c.given && !strings.Contains(cut[0], "asks for 20s of timeout and gets 8s") {
			t.Errorf("asked %q, set %v: in force %s, %q", c.asked, c.set, got, cut)
		}
	}
}
