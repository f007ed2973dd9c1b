package migrate

import "strings"

// move is a former key with the place that it has now, as paths in which * stands for each key of a map or each
// value of a list. The moves are made in order: what is inside of a section moves before the section.
type move struct{ from, to string }

// moves are those of the top level of a file and of each pipeline.
var moves = []move{
	// One name for what does a job.
	{"steps.*.plugin", "steps.*.use"},
	{"steps.*.instance", "steps.*.use"},
	{"steps.*.builtin", "steps.*.use"},
	{"steps.*.retriever.plugin", "steps.*.retriever.use"},
	{"steps.*.retriever.instance", "steps.*.retriever.use"},
	{"steps.*.retriever.retriever", "steps.*.retriever.use"},
	{"steps.*.retrievers.*.plugin", "steps.*.retrievers.*.use"},
	{"steps.*.retrievers.*.instance", "steps.*.retrievers.*.use"},
	{"steps.*.retrievers.*.retriever", "steps.*.retrievers.*.use"},
	{"steps.*.routes.*.plugin", "steps.*.routes.*.use"},
	{"steps.*.routes.*.instance", "steps.*.routes.*.use"},
	{"steps.*.routes.*.retriever", "steps.*.routes.*.use"},
	{"tokenizer.plugin", "tokenizer.use"},
	{"tokenizer.instance", "tokenizer.use"},
	{"format.plugin", "format.use"},
	{"format.instance", "format.use"},
	{"memory.plugin", "memory.use"},
	{"memory.instance", "memory.use"},
	{"enricher.plugin", "enricher.use"},
	{"enricher.instance", "enricher.use"},
	{"callbacks.*.plugin", "callbacks.*.use"},
	{"callbacks.*.instance", "callbacks.*.use"},
	{"conversation.compact.plugin", "conversation.compact.use"},
	{"conversation.compact.instance", "conversation.compact.use"},
	{"facts.extract.plugin", "facts.extract.use"},
	{"facts.extract.instance", "facts.extract.use"},
	{"collections.*.context.plugin", "collections.*.context.use"},
	{"collections.*.context.instance", "collections.*.context.use"},
	{"agent.compaction.compact.plugin", "agent.compaction.compact.use"},
	{"agent.compaction.compact.instance", "agent.compaction.compact.use"},
	{"agent.observation.make.plugin", "agent.observation.make.use"},
	{"agent.observation.make.instance", "agent.observation.make.use"},
	{"agent.observation.reflect.plugin", "agent.observation.reflect.use"},
	{"agent.observation.reflect.instance", "agent.observation.reflect.use"},
	{"providers.*.plugin", "providers.*.use"},
	{"providers.*.instance", "providers.*.use"},
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

	// What is gone.
	{"steps.*.rrf_k", ""},
	{"budget.allocations.*.priority", ""},
	{"budget.total_tokens", ""},
	{"window.budget.total_tokens", ""},
	{"conversation.recency", ""},
	{"conversation.recency_lowest", ""},
	{"conversation.recency_rate", ""},
	{"format_options.cache_control", ""},
	{"agent.phase", ""},
	{"agent.enforce", ""},

	// Sections.
	{"max_tokens", "window.max_tokens"},
	{"budget.reserve_tokens", "window.answer"},
	{"fit", "window.fit"},
	{"fit_options.message_overhead", "window.message_overhead"},
	{"fit_options.priming", "window.priming"},
	{"fit_options.tools", "window.tools_text"},
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

// Place is [Moved] for the path of any value, such as one in a section that moved.
func Place(path string) (to string, ok bool) {
	to, _, ok = follow(path)
	return to, ok
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
