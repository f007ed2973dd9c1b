package assemble

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// use is one place of a configuration that names a plugin.
type use struct {
	config.Use
	// path is the key path of the place.
	path string
	// op is the operation that the place needs. It is empty if the step does not state its
	// operation.
	op abi.Operation
	// step is the step if its plugin or instance is this place, nil for all other places.
	step *config.Step
	// stepName is the name of the step that contains the place. It is empty outside of steps.
	stepName string
	// job is the kind of work that calls the plugin.
	job job
}

// job is a kind of work that a configuration is used for.
type job uint8

// The jobs, and all of them.
const (
	jobBuild job = 1 << iota
	jobAgent
	jobFacts
	jobIngest
	jobAny = jobBuild | jobAgent | jobFacts | jobIngest
)

// Places that name a plugin.
const (
	tokenizerPath = "counting.tokenizer"
	condensePath  = "memory.conversation.compact"
	compactPath   = "agent.compaction.compact"
	makePath      = "agent.observation.make"
	reflectPath   = "agent.observation.reflect"
)

// extractPath is the path of the plugin that extracts facts.
const extractPath = "memory.facts.extract"

// contextPath is the path of the plugin that makes the contexts of a collection.
func contextPath(collection string) string {
	return strict.Join("collections", collection) + ".context"
}

// uses lists every place that names a plugin, in the order of the format.
func uses(c *config.Config) []use {
	var list []use
	add := func(path string, op abi.Operation, u *config.Use) *use {
		if u == nil || u.Name == "" {
			return new(use)
		}
		list = append(list, use{Use: *u, path: path, op: op, job: jobBuild})
		return &list[len(list)-1]
	}
	add(tokenizerPath, abi.OpCountTokens, c.Tokenizer.Use).job = jobAny
	add("format", abi.OpFormat, c.Format.Use)
	add("memory", abi.OpMemory, &c.Memory.Use)
	if c.Conversation != nil {
		add(condensePath, abi.OpCompact, c.Conversation.Compact)
	}
	if c.Facts != nil && c.Facts.Extract != nil {
		add(extractPath, abi.OpExtract, &c.Facts.Extract.Use).job = jobFacts
	}
	if c.Enricher != nil {
		add("enricher", abi.OpEnrichQuery, &c.Enricher.Use)
	}
	for i := range c.Steps {
		s, path := &c.Steps[i], fmt.Sprintf("steps[%d]", i)
		before := len(list)
		if c.CallsPlugin(s) {
			own := add(path, abi.Operation(s.Operation), &s.Use)
			own.step, own.stepName = s, s.Name
		}
		for j := range s.Retrievers {
			if u := &s.Retrievers[j].Use; !c.IsSearch(u.Name) {
				add(fmt.Sprintf("%s.retrievers[%d]", path, j), abi.OpRetrieve, u).stepName = s.Name
			}
		}
		for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
			if route := s.Routes[label]; !c.IsSearch(route.Name) {
				add(strict.Join(path+".routes", label), abi.OpRetrieve, &route).stepName = s.Name
			}
		}
		for j := range list[before:] {
			list[before+j].Must = s.Must
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Collections)) {
		add(contextPath(name), abi.OpProcess, c.Collections[name].Context).job = jobIngest
	}
	for i := range c.Callbacks {
		add(fmt.Sprintf("callbacks[%d]", i), abi.OpObserve, &c.Callbacks[i])
	}
	if config.On(c.Agent.Compaction.Enabled) {
		add(compactPath, abi.OpCompact, c.Agent.Compaction.Compact).job = jobAgent
	}
	if c.Agent.Observation.Made() {
		add(makePath, abi.OpDistill, c.Agent.Observation.Make.Use).job = jobAgent
		add(reflectPath, abi.OpDistill, c.Agent.Observation.Reflect.Use).job = jobAgent
	}
	for i := range c.Agent.Providers {
		add(fmt.Sprintf("agent.providers[%d]", i), abi.OpProvide, &c.Agent.Providers[i].Use).job = jobAgent
	}
	return list
}
