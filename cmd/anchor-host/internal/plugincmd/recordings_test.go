package plugincmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// A file that is no recording is refused with its name and, where it can be read, the place and the
// nearest name, by plugin test and by plugin call.
func TestHostileRecordings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, want string }{
		"large":  {`{"name": "` + strings.Repeat("x", 10<<20) + `"}`, "case.json: too large (at most 8MiB)"},
		"deep":   {`{"name": "a",` + "\n" + `"request": ` + strings.Repeat("[", 1<<20), "case.json:2:76: nested deeper than 64 levels"},
		"type":   {`{"name": "a",` + "\n" + ` "kv": {"key": 1}, "expect": {}}`, "case.json:2:8: kv: "},
		"member": {`{"name": "a",` + "\n" + ` "http": [{"request": {"urll": "u"}, "response": {}}]}`, `case.json:2:24: http[0].request.urll: unknown member (did you mean "url"?)`},
		"tokens": {`{"name": "a", "tokens": [{"text": "a", "count": "1"}], "expect": {}}`, "case.json:1:49: tokens[0].count: "},
		"base64": {`{"name": "a", "operation": "filter", "expect": {"no_change": true}, "kv": [{"key": "a", "value_base64": "?"}]}`, `case.json: case "a": kv[0].value_base64: illegal base64`},
		"key":    {`{"name": "a", "operation": "filter", "expect": {"no_change": true}, "kv": [{"value": "a"}]}`, `case.json: case "a": kv[0]: there is no key`},
		"cut":    {`{"name": "a", "operation": "fil`, "case.json:1:32: "},
		"binary": {"\x00\xff\x00", "case.json:1:1: "},
	} {
		dir := clitest.Write(t, map[string]string{"tests/case.json": tt.file})
		for _, args := range [][]string{{"test", goodPlugin, "--short", "--cases", filepath.Join(dir, "tests")}, {"call", goodPlugin, "anchor_filter", "--request", filepath.Join(dir, "tests", "case.json")}} {
			if name == "large" && args[0] == "call" { // there the largest request of the kit has room
				continue
			}
			code, stdout, stderr := run(t, "", append(append([]string{"plugin"}, args...), "--cache-dir", "off")...)
			if code == cli.CodeOK || !strings.Contains(stderr, tt.want) || len(stderr) > 4<<10 {
				t.Errorf("%s, %s: code %d, %.2000s%.2000s; want %s", name, args[0], code, stdout, stderr, tt.want)
			}
		}
	}
}
