package msgtest

func (g *generator) anthropic() obj {
	always := !g.Simple && g.one(3) // each message of the assistant begins with thinking
	var messages arr
	role, open := "", []string(nil)
	for len(messages) < g.Messages {
		left := g.Messages - len(messages)
		var content any
		switch {
		case len(open) > 0:
			role, content = "user", g.anthropicResults(open)
			open = nil
		case role == "" || role == "assistant":
			role, content = "user", g.anthropicUser()
		case role == "user" && g.odd(30):
			role, content = "system", g.text(8)
		case role == "user" && g.odd(30):
			content = g.anthropicUser()
		default:
			role = "assistant"
			content, open = g.anthropicAssistant(left > 1, always)
		}
		messages = append(messages, g.extra(obj{{"role", role}, {"content", content}}))
	}
	system := obj{{"type", "text"}, {"text", g.text(30)}}
	if !g.Simple {
		system = g.anthropicMarks(system, messages)
	}
	body := obj{{"model", "claude-opus-4-8"}, {"max_tokens", 4096}, {"system", arr{system}}, {"tools", g.anthropicTools()}, {"messages", messages}}
	if always {
		body = append(body, member{"thinking", obj{{"type", "enabled"}, {"budget_tokens", 2048}}})
	}
	return g.extra(body)
}

func (g *generator) anthropicTools() arr {
	var out arr
	for _, name := range tools {
		out = append(out, obj{{"name", name}, {"description", g.text(6)}, {"input_schema", g.schema()}})
	}
	return out
}

// anthropicMarks puts up to four cache marks: on the system prompt and on last blocks of messages.
func (g *generator) anthropicMarks(system obj, messages arr) obj {
	mark := member{"cache_control", obj{{"type", "ephemeral"}}}
	if g.one(2) {
		mark.value = obj{{"type", "ephemeral"}, {"ttl", "1h"}}
	}
	for range g.r.IntN(4) {
		m := messages[len(messages)-1-g.r.IntN(min(len(messages), 6))].(obj)
		blocks, ok := m[1].value.(arr)
		if !ok || len(blocks) == 0 {
			continue
		}
		last := blocks[len(blocks)-1].(obj)
		if last[len(last)-1].name != "cache_control" && last[0].value != "x_note" {
			blocks[len(blocks)-1] = append(last, mark)
		}
	}
	return append(system, mark)
}

func (g *generator) anthropicText(n int) obj {
	return g.extra(obj{{"type", "text"}, {"text", g.text(n)}})
}

func (g *generator) anthropicImage() obj {
	if g.odd(2) {
		return obj{{"type", "image"}, {"source", obj{{"type", "url"}, {"url", "https://example.com/a.png"}}}}
	}
	return obj{{"type", "image"}, {"source", obj{{"type", "base64"}, {"media_type", "image/png"}, {"data", png}}}}
}

func (g *generator) anthropicDocument() obj {
	switch g.r.IntN(3) {
	case 0:
		return obj{{"type", "document"}, {"source", obj{{"type", "base64"}, {"media_type", "application/pdf"}, {"data", pdf}}}, {"title", "A " + g.text(2)}}
	case 1:
		return obj{{"type", "document"}, {"source", obj{{"type", "text"}, {"media_type", "text/plain"}, {"data", g.text(20)}}}, {"citations", obj{{"enabled", true}}}}
	}
	return obj{{"type", "document"}, {"source", obj{{"type", "url"}, {"url", "https://example.com/a.pdf"}}}}
}

// unknown is a part of a type that no library knows.
func (g *generator) unknown() obj {
	return obj{{"type", "x_note"}, {"x_body", obj{{"x_n", raw("1e2")}, {"x_t", g.text(4)}}}}
}

func (g *generator) anthropicUser() any {
	if g.one(2) {
		return g.text(15)
	}
	return g.anthropicAttached(arr{g.anthropicText(20)})
}

// anthropicAttached adds images, documents and unknown parts to a message of the user, now and then.
func (g *generator) anthropicAttached(blocks arr) arr {
	if g.one(6) {
		blocks = append(blocks, g.anthropicImage())
	}
	if g.odd(8) {
		blocks = append(blocks, g.anthropicDocument())
	}
	if g.odd(10) {
		blocks = append(blocks, g.unknown())
	}
	return blocks
}

func (g *generator) anthropicResults(ids []string) arr {
	var out arr
	g.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		result := obj{{"type", "tool_result"}, {"tool_use_id", id}}
		switch {
		case g.odd(12): // a tool that says nothing
		case g.one(3):
			parts := arr{obj{{"type", "text"}, {"text", g.output()}}}
			if g.one(4) {
				parts = append(parts, g.anthropicImage())
			}
			if g.odd(4) {
				parts = append(parts, g.anthropicDocument(), g.unknown())
			}
			result = append(result, member{"content", parts})
		default:
			result = append(result, member{"content", g.output()})
			if g.one(8) {
				result = append(result, member{"is_error", true})
			}
		}
		out = append(out, g.extra(result))
	}
	if g.odd(4) {
		out = append(out, g.anthropicText(10))
	}
	if g.odd(12) {
		out = g.anthropicAttached(out)
	}
	return out
}

// anthropicAssistant returns a message of the assistant and the ids of its calls.
func (g *generator) anthropicAssistant(mayCall, always bool) (any, []string) {
	call := mayCall && g.act()
	if !call && !always && g.one(3) {
		return g.text(25), nil
	}
	var out arr
	if !always && g.odd(40) {
		out = append(out, obj{{"type", "compaction"}, {"content", g.text(30)}})
	}
	if always || g.odd(4) {
		if g.one(4) {
			out = append(out, obj{{"type", "redacted_thinking"}, {"data", g.opaque(60)}})
		} else {
			out = append(out, obj{{"type", "thinking"}, {"thinking", g.text(20)}, {"signature", g.opaque(60)}})
		}
	}
	if g.odd(12) {
		id := g.id("srvtoolu_")
		out = append(out, obj{{"type", "server_tool_use"}, {"id", id}, {"name", "web_search"}, {"input", obj{{"query", g.text(3)}}}},
			obj{{"type", "web_search_tool_result"}, {"tool_use_id", id}, {"content", arr{obj{
				{"type", "web_search_result"}, {"url", "https://example.com"}, {"title", g.text(2)}, {"encrypted_content", g.opaque(40)},
			}}}})
	}
	if !call || g.one(2) {
		out = append(out, g.anthropicText(25))
	}
	var ids []string
	for i := 0; call && i < g.calls(); i++ {
		id := g.id("toolu_")
		ids = append(ids, id)
		out = append(out, g.extra(obj{{"type", "tool_use"}, {"id", id}, {"name", g.tool()}, {"input", g.input()}}))
	}
	return out, ids
}
