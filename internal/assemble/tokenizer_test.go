package assemble

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// A compilation that fails leaves nothing behind that later counts outside of builds meet.
func TestCountsAfterAFailedCompilation(t *testing.T) {
	c := &config.Config{Counting: config.Counting{Tokenizer: config.Choice{Use: &config.Use{Name: "nowhere"}}}}
	c.Plugins = config.Plugins{Dir: t.TempDir(), CacheDir: "off"}
	g, err := Open(LoadedOf(c), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(t.Context())
	if _, err := g.Compile(t.Context(), c); err == nil {
		t.Fatal("a pipeline without its tokenizer is made")
	}
	if _, err := g.tokenizer.Count(t.Context(), "a b"); !errors.Is(err, errTokenizer) {
		t.Errorf("before there is a tokenizer: %v", err)
	}
	if name := g.tokenizer.Name(); name == "" {
		t.Error("the tokenizer has no name")
	}
	words := &config.Config{Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}}
	if _, err := g.Compile(t.Context(), words); err != nil {
		t.Fatal(err)
	}
	if n, err := g.tokenizer.Count(t.Context(), "a b"); err != nil || len(n) != 1 || n[0] != 2 {
		t.Errorf("after one with a tokenizer: %v, %v", n, err)
	}
}
