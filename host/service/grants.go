package service

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// Services are what answers guests. A nil one is not offered.
type Services struct {
	Embedder Embedder
	Searcher Searcher
	Models   Models
}

// Grants are what a plugin may ask services for. A nil one is nothing.
type Grants struct {
	Embed  *EmbedGrant
	Search *SearchGrant
	LLM    *LLMGrant
}

// Defaults of grants. They end a plugin that asks in a loop, not one that has much to do.
const (
	DefaultMaxCalls = 1000
	DefaultMaxTexts = 100_000
)

// EmbedGrant lets a plugin make vectors of texts.
type EmbedGrant struct {
	// Embedder is the name of the embedder, for [Embedder].
	Embedder string
	// MaxCalls and MaxTexts bound the requests of the plugin, and their texts together, in one
	// build, or in one call of the plugin that is none of a build. 0: [DefaultMaxCalls] and
	// [DefaultMaxTexts].
	MaxCalls, MaxTexts int64
}

// SearchGrant lets a plugin search collections of the tenant that it is called for.
type SearchGrant struct {
	// Collections are the names of the collections, at least one. The first is searched if the
	// plugin names none.
	Collections []string
	// MaxCalls bounds the searches of the plugin as that of [EmbedGrant]. 0: [DefaultMaxCalls].
	MaxCalls int64
}

// LLMGrant lets a plugin ask models.
type LLMGrant struct {
	// Models are the names of the models, for [Models], at least one. The first is asked if the
	// plugin names none.
	Models []string
	// MaxCalls and MaxTokens bound the requests of the plugin and their tokens, input and output
	// together, in one build, or in one call of the plugin that is none of a build. Before an
	// answer is there, four bytes of a request count as a token, and the answer as its maximum,
	// if that is stated. 0: the plugin has no bound of its own.
	MaxCalls, MaxTokens int64
}

// Names are the services that are granted, as manifests name them.
func (g Grants) Names() (names []string) {
	if g.Embed != nil {
		names = append(names, manifest.ServiceEmbed)
	}
	if g.Search != nil {
		names = append(names, manifest.ServiceSearch)
	}
	if g.LLM != nil {
		names = append(names, manifest.ServiceLLM)
	}
	return names
}

// Take adds the grant of one service in from, and reports whether there is one.
func (g *Grants) Take(name string, from Grants) bool {
	switch name {
	case manifest.ServiceEmbed:
		g.Embed = from.Embed
	case manifest.ServiceSearch:
		g.Search = from.Search
	case manifest.ServiceLLM:
		g.LLM = from.LLM
	}
	return slices.Contains(from.Names(), name)
}

// Missing returns the first service that is granted and not offered, "" for none.
func (g Grants) Missing(s Services) string {
	switch {
	case g.Embed != nil && s.Embedder == nil:
		return manifest.ServiceEmbed
	case g.Search != nil && s.Searcher == nil:
		return manifest.ServiceSearch
	case g.LLM != nil && s.Models == nil:
		return manifest.ServiceLLM
	}
	return ""
}

// Check refuses grants that name nothing, or something twice. The error begins with the name of
// the grant.
func (g Grants) Check() error {
	if g.Embed != nil && g.Embed.Embedder == "" {
		return fmt.Errorf("embed.embedder is empty (name one)")
	}
	if g.Embed != nil && (g.Embed.MaxCalls < 0 || g.Embed.MaxTexts < 0) {
		return fmt.Errorf("embed: max_calls %d, max_texts %d (want 1 or more, or 0 for the default)", g.Embed.MaxCalls, g.Embed.MaxTexts)
	}
	if g.Search != nil {
		if g.Search.MaxCalls < 0 {
			return fmt.Errorf("search: max_calls %d (want 1 or more, or 0 for the default)", g.Search.MaxCalls)
		}
		if err := checkNames("search.collections", g.Search.Collections); err != nil {
			return err
		}
	}
	if g.LLM == nil {
		return nil
	}
	if g.LLM.MaxCalls < 0 || g.LLM.MaxTokens < 0 {
		return fmt.Errorf("llm: max_calls %d, max_tokens %d (want 1 or more, or 0 for no bound)", g.LLM.MaxCalls, g.LLM.MaxTokens)
	}
	return checkNames("llm.models", g.LLM.Models)
}

func checkNames(key string, names []string) error {
	if len(names) == 0 || slices.Contains(names, "") {
		return fmt.Errorf("%s is empty (name at least one)", key)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s: %q is there twice", key, name)
		}
	}
	return nil
}

// Clone copies g.
func (g Grants) Clone() Grants {
	var out Grants
	if g.Embed != nil {
		out.Embed = &EmbedGrant{g.Embed.Embedder, g.Embed.MaxCalls, g.Embed.MaxTexts}
	}
	if g.Search != nil {
		out.Search = &SearchGrant{slices.Clone(g.Search.Collections), g.Search.MaxCalls}
	}
	if g.LLM != nil {
		out.LLM = &LLMGrant{slices.Clone(g.LLM.Models), g.LLM.MaxCalls, g.LLM.MaxTokens}
	}
	return out
}
