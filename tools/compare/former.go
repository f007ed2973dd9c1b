package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// former returns the case as a binary from before "config migrate" reads it: with the keys of that
// time. A new binary is given its configuration through "config migrate", and a request as it is.
func (c *randomCase) former() *randomCase {
	old := *c
	old.files = slices.Clone(c.files)
	for i, f := range old.files {
		var o object
		if f.name != "messages.json" && json.Unmarshal([]byte(f.text), &o) == nil {
			text, err := json.Marshal(formerKeys(o))
			if err != nil {
				panic(err) // it was read from JSON
			}
			old.files[i].text = string(text)
		}
	}
	old.args = slices.Clone(c.args)
	for i, a := range old.args {
		if preset, ok := strings.CutPrefix(a, "window.budget.preset="); ok {
			old.args[i-1], old.args[i] = "--preset", preset
		}
	}
	return &old
}

func formerKeys(o object) object {
	w := take(o, "window")
	if b, ok := w["budget"].(object); ok {
		b["total_tokens"] = w["max_tokens"]
		rename(w, "answer", b, "reserve_tokens")
		list, _ := b["allocations"].([]any)
		for _, a := range list {
			rename(a.(object), "cap_tokens", a.(object), "max_tokens")
		}
	}
	maps.Copy(o, w)
	maps.Copy(o, take(o, "counting"))
	list, _ := o["steps"].([]any)
	for _, s := range list {
		formerUse(s.(object))
	}
	if turns := take(take(o, "memory"), "conversation"); len(turns) > 0 {
		rename(turns, "tokens", turns, "max_tokens")
		o["conversation"] = turns
	}
	if a, ok := o["agent"].(object); ok {
		if compaction, ok := a["compaction"].(object); ok {
			rename(compaction, "high_water", compaction, "trigger_tokens")
			rename(compaction, "low_water_messages", compaction, "keep_messages")
			if p, ok := compaction["compact"].(object); ok {
				formerUse(p)
			}
		}
	}
	return o
}

// take removes a member that is an object and returns it. It returns an empty one without it.
func take(o object, name string) object {
	member, ok := o[name].(object)
	if !ok {
		return object{}
	}
	delete(o, name)
	return member
}

func rename(from object, name string, to object, now string) {
	if v, ok := from[name]; ok {
		delete(from, name)
		to[now] = v
	}
}

// formerUse names a plugin or a built-in step in the way of before. The plugins have a hyphen or are dedupe.
func formerUse(o object) {
	name, _ := o["use"].(string)
	if strings.Contains(name, "-") || name == "dedupe" {
		rename(o, "use", o, "plugin")
		return
	}
	rename(o, "use", o, "builtin")
}

// before returns the answer of the old binary, and after that of the new one.
func (c *randomCase) before(ctx context.Context, o *options) answer {
	if o.former {
		c = c.former()
	}
	return c.run(ctx, o.old, o.plugins, false)
}

func (c *randomCase) after(ctx context.Context, o *options) answer {
	if !o.former || c.kind == "requests" {
		return c.run(ctx, o.new, o.plugins, false)
	}
	migrated := *c
	migrated.files = c.former().files
	return migrated.run(ctx, o.new, o.plugins, true)
}
