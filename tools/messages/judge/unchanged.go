package judge

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// sealed are the types of blocks and items that only the provider may read: it refuses them or
// loses their meaning if a byte is different.
var sealed = []string{"thinking", "redacted_thinking", "compaction", "reasoning"}

// Unchanged returns nil if what a body may not change in the middle of a conversation is as it
// was before. Each thinking block, encrypted item or signature of a call that is still there was
// there before, in the same order and with the same neighbour after it (API: `thinking` or
// `redacted_thinking` blocks in the latest assistant message cannot be modified; Item X was
// provided without its required 'reasoning' item). An item with the compacted history stands for
// what was before it and needs no neighbour. All members of the body but the messages are the same.
func Unchanged(form string, before, after []byte) error {
	a, errA := read(before)
	b, errB := read(after)
	if errA != nil || errB != nil {
		return refuse(-1, "", "the body is not a JSON object", errA, errB)
	}
	messages := map[string]string{Anthropic: "messages", Chat: "messages", Responses: "input", Gemini: "contents"}[form]
	old := sealedParts(list(a, messages))
	for _, p := range sealedParts(list(b, messages)) {
		at := slices.IndexFunc(old, func(o sealedPart) bool { return reflect.DeepEqual(o.value, p.value) })
		if at < 0 {
			return refuse(p.message, p.member, "a sealed part is as it was, in its place", fmt.Sprintf("%.80v", p.value))
		}
		if !reflect.DeepEqual(old[at].next, p.next) {
			return refuse(p.message, p.member, "what follows a sealed part is as it was")
		}
		old = old[at+1:]
	}
	delete(a, messages)
	delete(b, messages)
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if !reflect.DeepEqual(a[k], b[k]) {
			return refuse(-1, k, "the members beside the messages are as they were")
		}
	}
	return nil
}

type sealedPart struct {
	message     int
	member      string
	value, next any
}

// sealedParts returns the sealed parts of the messages in order.
func sealedParts(messages []any) []sealedPart {
	var out []sealedPart
	for i, v := range messages {
		m := object(v)
		if slices.Contains(sealed, str(m, "type")) {
			p := sealedPart{message: i, value: m}
			if i+1 < len(messages) && m["type"] != "compaction" {
				p.next = messages[i+1]
			}
			out = append(out, p)
		}
		for _, name := range []string{"content", "parts"} {
			parts := list(m, name)
			for j, v := range parts {
				if o := object(v); !slices.Contains(sealed, str(o, "type")) && o["thoughtSignature"] == nil {
					continue
				}
				p := sealedPart{message: i, member: at(name, j), value: v}
				if j+1 < len(parts) {
					p.next = parts[j+1]
				}
				out = append(out, p)
			}
		}
	}
	return out
}
