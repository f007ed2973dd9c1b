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

// useList are places of a configuration.
type useList []use

// add adds a place that names something, and returns it to be completed.
func (l *useList) add(path string, op abi.Operation, u *config.Use) *use {
	if u == nil || u.Name == "" {
		return new(use)
	}
	*l = append(*l, use{Use: *u, path: path, op: op, job: jobBuild})
	return &(*l)[len(*l)-1]
}

// uses lists every place that names a plugin, in the order of the format.
func uses(c *config.Config) []use {
	var list useList
	list.add(tokenizerPath, abi.OpCountTokens, c.Tokenizer.Use).job = jobAny
	list.add("format", abi.OpFormat, c.Format.Use)
	list.add("memory", abi.OpMemory, &c.Memory.Use)
	if c.Conversation != nil {
		list.add(condensePath, abi.OpCompact, c.Conversation.Compact.Use())
	}
	if c.Facts != nil && c.Facts.Extract != nil {
		list.add(extractPath, abi.OpExtract, c.Facts.Extract.Use()).job = jobFacts
	}
	if c.Enricher != nil {
		list.add("enricher", abi.OpEnrichQuery, &c.Enricher.Use)
	}
	for i := range c.Steps {
		list.step(c, fmt.Sprintf("steps[%d]", i), &c.Steps[i])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Collections)) {
		list.add(contextPath(name), abi.OpProcess, c.Collections[name].Context.Use()).job = jobIngest
	}
	for i := range c.Callbacks {
		list.add(fmt.Sprintf("callbacks[%d]", i), abi.OpObserve, c.Callbacks[i].Use())
	}
	list.agent(&c.Agent)
	return list
}

// step adds the places of a step, which has the say in whether they must answer.
func (l *useList) step(c *config.Config, path string, s *config.Step) {
	before := len(*l)
	if c.CallsPlugin(s) {
		own := l.add(path, abi.Operation(s.Operation), &s.Use)
		own.step, own.stepName = s, s.Name
	}
	for j := range s.Retrievers {
		if u := s.Retrievers[j].Use(); !c.IsSearch(u.Name) {
			l.add(fmt.Sprintf("%s.retrievers[%d]", path, j), abi.OpRetrieve, u).stepName = s.Name
		}
	}
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		if route := s.Routes[label]; !c.IsSearch(route.Name) {
			l.add(strict.Join(path+".routes", label), abi.OpRetrieve, route.Use()).stepName = s.Name
		}
	}
	for j := range (*l)[before:] {
		(*l)[before+j].Must = s.Must
	}
	if s.Shadow != nil {
		l.add(path+".shadow", abi.Operation(s.Operation), &config.Use{Name: s.Shadow.Use, Settings: s.Settings, Must: new(bool)}).stepName = s.Name
	}
}

// agent adds the places of an agent.
func (l *useList) agent(a *config.Agent) {
	if config.On(a.Compaction.Enabled) {
		l.add(compactPath, abi.OpCompact, a.Compaction.Compact.Use()).job = jobAgent
	}
	if a.Observation.Made() {
		l.add(makePath, abi.OpDistill, a.Observation.Make.Use).job = jobAgent
		l.add(reflectPath, abi.OpDistill, a.Observation.Reflect.Use).job = jobAgent
	}
	for i := range a.Providers {
		l.add(fmt.Sprintf("agent.providers[%d]", i), abi.OpProvide, &a.Providers[i].Use).job = jobAgent
	}
}
