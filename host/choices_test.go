package host_test

import (
	"encoding"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// Each choice takes its own words from text, and no others. A refused text leaves the value
// as it was.
func TestChoicesFromText(t *testing.T) {
	for _, tc := range []struct {
		value encoding.TextUnmarshaler
		words []string
		wrong string
		say   string
	}{
		{new(host.Engine), []string{"compiler", "interpreter"}, "compilr", `unknown value "compilr" (did you mean "compiler"?)`},
		{new(host.Lane), []string{"json", "batch"}, "extism", `unknown value "extism" (want one of json, batch)`},
		{new(host.State), []string{"reset", "keep", "fresh"}, "clean", `unknown value "clean" (want one of reset, keep, fresh)`},
		{new(host.FileMode), []string{"ro", "rw"}, "rwx", `unknown value "rwx"`},
		{new(host.FunctionInput), []string{"query", "text", "request"}, "", `unknown value ""`},
		{new(host.FunctionOutput), []string{"text", "items", "changes"}, "item", `unknown value "item" (did you mean "items"?)`},
	} {
		for _, w := range tc.words {
			err := tc.value.UnmarshalText([]byte(w))
			if text, _ := json.Marshal(tc.value); err != nil || string(text) != `"`+w+`"` {
				t.Errorf("%T: %q gives %s, error %v", tc.value, w, text, err)
			}
		}
		before, _ := json.Marshal(tc.value)
		err := tc.value.UnmarshalText([]byte(tc.wrong))
		if after, _ := json.Marshal(tc.value); err == nil || !strings.HasPrefix(err.Error(), tc.say) || string(after) != string(before) {
			t.Errorf("%T: %q: %v, and the value is %s\nwant %s", tc.value, tc.wrong, err, after, tc.say)
		}
	}
}
