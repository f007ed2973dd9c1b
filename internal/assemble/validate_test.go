package assemble

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// What a named pipeline states is checked where it stands, and once.
func TestValidatePipelines(t *testing.T) {
	l, err := config.Parse("f", []byte(`max_tokens: 50
steps: [{name: s, plugin: missing}]
pipelines:
  same: {max_tokens: 60}
  own: {steps: [{name: s, plugin: lost}, {name: t, builtin: sort, settings: {by: size}}]}
  small: {max_tokens: 5, budget: {preset: rag}}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Validate(l, t.TempDir())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"f:2:9: steps[0]: ", "pipelines.own.steps[0]: ", "pipelines.own.steps[1].settings: ", "pipelines.small.budget: "} {
		if strings.Count(err.Error(), want) == 0 {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 4 {
		t.Errorf("%d problems, want 4:\n%v", n, err)
	}
}
