package migrate

import "strings"

// move is a former key with the place that it has now, as paths in which * stands for each key of a map or each
// value of a list. The moves are made in order: what is inside of a section moves before the section.
type move struct{ from, to string }

// uses are the places that name what does a job. Once they did so by several keys.
var uses = []string{
	"steps.*", "steps.*.retriever", "steps.*.retrievers.*", "steps.*.routes.*", "tokenizer", "format", "memory",
	"enricher", "callbacks.*", "conversation.compact", "facts.extract", "collections.*.context",
	"agent.compaction.compact", "agent.observation.make", "agent.observation.reflect", "providers.*",
}

// usedBy are the keys that some of them had in addition to plugin and instance.
var usedBy = []string{"steps.*.builtin", "steps.*.retriever.retriever", "steps.*.retrievers.*.retriever", "steps.*.routes.*.retriever"}

// gone are the keys that have no place. What a plugin reads is narrowed by steps, and what must answer is said of
// steps and instances.
var gone = []string{
	"steps.*.rrf_k", "budget.allocations.*.priority", "conversation.recency", "conversation.recency_lowest",
	"conversation.recency_rate", "format_options.cache_control", "agent.phase", "fit_options.message_overhead",
	"fit_options.priming", "fit_options.tools", "window.message_overhead", "window.priming", "window.tools_text",
	"instances.*.lane", "instances.*.deterministic", "plugins.instances.*.lane", "plugins.instances.*.deterministic",
	"plugins.plugin_share", "agent.enforce", "agent.observation.make.fallback", "agent.observation.reflect.fallback",
	"memory.reads", "enricher.reads", "format.reads", "tokenizer.reads", "steps.*.retrievers.*.reads",
	"steps.*.routes.*.reads", "callbacks.*.reads", "conversation.compact.reads", "facts.extract.reads",
	"collections.*.context.reads", "agent.compaction.compact.reads", "agent.observation.make.reads",
	"agent.observation.reflect.reads", "agent.providers.*.reads", "counting.tokenizer.reads",
	"memory.conversation.compact.reads", "memory.facts.extract.reads",
	"steps.*.retrievers.*.must", "steps.*.routes.*.must", "callbacks.*.must", "conversation.compact.must",
	"facts.extract.must", "collections.*.context.must", "agent.compaction.compact.must",
	"memory.conversation.compact.must", "memory.facts.extract.must",
}

// moves are those of the top level of a file and of each pipeline.
var moves = allMoves()

func allMoves() (all []move) {
	for _, place := range uses {
		all = append(all, move{place + ".plugin", place + ".use"}, move{place + ".instance", place + ".use"})
	}
	for _, key := range usedBy {
		all = append(all, move{key, parent(key) + ".use"})
	}
	all = append(all, inside...)
	for _, key := range gone {
		all = append(all, move{from: key})
	}
	return append(all, sections...)
}

// inside are moves within sections.
var inside = []move{
	{"providers", "agent.providers"},

	// One pair of watermarks; max_tokens is the size of a window.
	{"conversation.max_tokens", "conversation.tokens"},
	{"frames.max_tokens", "frames.tokens"},
	{"agent.frames.max_tokens", "agent.frames.tokens"},
	{"agent.compaction.trigger_tokens", "agent.compaction.high_water"},
	{"agent.compaction.keep_tokens", "agent.compaction.low_water"},
	{"agent.compaction.trigger_messages", "agent.compaction.high_water_messages"},
	{"agent.compaction.keep_messages", "agent.compaction.low_water_messages"},
	{"agent.observation.reflect_high_water", "agent.observation.reflect.high_water"},
	{"agent.observation.reflect_low_water", "agent.observation.reflect.low_water"},
	{"budget.allocations.*.max_tokens", "budget.allocations.*.cap_tokens"},
	{"models.*.max_tokens", "models.*.max_output_tokens"},
	{"collections.*.context_budget.max_tokens", "collections.*.context_budget.tokens"},
	{"instances.*.grants.llm.max_tokens", "instances.*.grants.llm.tokens"},

	// The circuit breaker of a plugin.
	{"instances.*.limits.rest_after", "instances.*.limits.break_after"},
	{"instances.*.limits.rest_most", "instances.*.limits.break_most"},

	// In a step that uses nothing else; see the rewriter for those that do.
	{"steps.*.retriever", "steps.*.use"},
}

// sections are moves of whole sections, and into them.
var sections = []move{
	{"max_tokens", "window.max_tokens"},
	{"budget.total_tokens", "window.max_tokens"},
	{"window.budget.total_tokens", "window.max_tokens"},
	{"budget.reserve_tokens", "window.answer"},
	{"fit", "window.fit"},
	{"fit_options.min_tokens", "window.cut_min_tokens"},
	{"fill", "window.fill"},
	{"truncate", "window.truncate"},
	{"order", "window.order"},
	{"budget", "window.budget"},
	{"system_prompts", "window.system_prompts"},
	{"tools", "window.tools"},
	{"include_query", "window.include_query"},
	{"model", "counting.model"},
	{"tokenizer", "counting.tokenizer"},
	{"calibration", "counting.calibration"},
	{"conversation", "memory.conversation"},
	{"facts", "memory.facts"},
	{"frames", "memory.frames"},
	{"instances", "plugins.instances"},
	{"plugins.memory", "plugins.total_memory"},
	{"cache_dir", "plugins.cache_dir"},
	{"indexes", "registries.indexes"},
	{"log_level", "telemetry.log_level"},
	{"records", "builds.records"},
}

// Moved returns the place that a former key has now, and "" if it is gone. ok says that path is a former key.
func Moved(path string) (to string, ok bool) {
	to, whole, _ := follow(path)
	return to, whole
}

// follow makes all moves of a path. whole says that a move is of the path itself, and some that one is of a part of it.
func follow(path string) (to string, whole, some bool) {
	within := ""
	if rest, in := strings.CutPrefix(path, "pipelines."); in {
		name, rest, _ := strings.Cut(rest, ".")
		within, path = "pipelines."+name+".", rest
	}
	at := strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
	for _, m := range moves {
		n := strings.Count(m.from, ".") + 1
		if len(at) < n || !matches(strings.Split(m.from, "."), at) {
			continue
		}
		whole, some = whole || len(at) == n, true
		if m.to == "" {
			return "", whole, true
		}
		var stars []string
		for i, key := range strings.Split(m.from, ".") {
			if key == "*" {
				stars = append(stars, at[i])
			}
		}
		var now []string
		for _, key := range strings.Split(m.to, ".") {
			if key == "*" {
				key, stars = stars[0], stars[1:]
			}
			now = append(now, key)
		}
		at = append(now, at[n:]...)
	}
	return within + strings.ReplaceAll(strings.Join(at, "."), ".[", "["), whole, some
}

// matches reports whether a path begins with a pattern.
func matches(pattern, at []string) bool {
	for i, key := range pattern {
		if key != "*" && key != at[i] {
			return false
		}
	}
	return true
}
