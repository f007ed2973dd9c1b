package assemble

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// A recipe that fails leaves nothing behind that later counts outside of builds meet.
func TestCountsAfterAFailedRecipe(t *testing.T) {
	c := &config.Config{Counting: config.Counting{Tokenizer: config.Choice{Use: &config.Use{Name: "nowhere"}}}}
	g := Open(c, Options{PluginDir: t.TempDir(), CacheDir: "off"})
	defer g.Close(t.Context())
	if _, err := g.Recipe(t.Context(), c); err == nil {
		t.Fatal("a recipe without its tokenizer is made")
	}
	if _, err := g.tokenizer.Count(t.Context(), "a b"); !errors.Is(err, errTokenizer) {
		t.Errorf("before there is a tokenizer: %v", err)
	}
	if name := g.tokenizer.Name(); name == "" {
		t.Error("the tokenizer has no name")
	}
	words := &config.Config{Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}}
	if _, err := g.Recipe(t.Context(), words); err != nil {
		t.Fatal(err)
	}
	if n, err := g.tokenizer.Count(t.Context(), "a b"); err != nil || len(n) != 1 || n[0] != 2 {
		t.Errorf("after a recipe with a tokenizer: %v, %v", n, err)
	}
}
