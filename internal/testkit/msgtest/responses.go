package msgtest

func (g *generator) responses() obj {
	items := arr{}
	if !g.Simple && g.one(4) {
		items = append(items, obj{{"type", "compaction"}, {"id", g.id("cmp_")}, {"encrypted_content", g.opaque(200)}})
	}
	user := false
	for len(items) < g.Messages {
		left := g.Messages - len(items)
		switch {
		case !user:
			items = append(items, g.extra(g.responsesUser()))
			user = true
		case g.odd(15):
			items = append(items, g.unknown())
		case left > 3 && g.act():
			items = append(items, g.responsesCalls(min(g.calls(), (left-1)/2))...)
		default:
			if left > 1 && g.odd(2) {
				items = append(items, g.reasoning())
			}
			items = append(items, g.extra(g.responsesAssistant()))
			user = false
		}
	}
	var defined arr
	for _, name := range tools {
		defined = append(defined, obj{{"type", "function"}, {"name", name}, {"description", g.text(6)}, {"parameters", g.schema()}, {"strict", false}})
	}
	return g.extra(obj{
		{"model", "gpt-5"}, {"instructions", g.text(30)}, {"input", items}, {"tools", defined},
		{"store", false}, {"include", arr{"reasoning.encrypted_content"}},
	})
}

// reasoning is encrypted and stands before the item that it led to.
func (g *generator) reasoning() obj {
	summary := arr{}
	if g.one(2) {
		summary = append(summary, obj{{"type", "summary_text"}, {"text", g.text(8)}})
	}
	return g.extra(obj{{"type", "reasoning"}, {"id", g.id("rs_")}, {"summary", summary}, {"encrypted_content", g.opaque(120)}})
}

func (g *generator) responsesUser() obj {
	m := obj{{"role", "user"}}
	if g.one(2) {
		m = append(obj{{"type", "message"}}, m...)
	}
	if g.one(2) {
		return append(m, member{"content", g.text(15)})
	}
	parts := arr{obj{{"type", "input_text"}, {"text", g.text(20)}}}
	if g.one(4) {
		parts = append(parts, obj{{"type", "input_image"}, {"image_url", "data:image/png;base64," + png}, {"detail", "low"}})
	}
	if g.odd(8) {
		parts = append(parts, obj{{"type", "input_file"}, {"filename", "a.pdf"}, {"file_data", "data:application/pdf;base64," + pdf}})
	}
	if g.odd(10) {
		parts = append(parts, g.unknown())
	}
	return append(m, member{"content", parts})
}

func (g *generator) responsesAssistant() obj {
	if g.one(4) {
		return obj{{"role", "assistant"}, {"content", g.text(25)}}
	}
	parts := arr{g.extra(obj{{"type", "output_text"}, {"text", g.text(25)}, {"annotations", arr{}}})}
	if g.odd(12) {
		parts = arr{obj{{"type", "refusal"}, {"refusal", "I cannot do that."}}}
	}
	return obj{{"type", "message"}, {"id", g.id("msg_")}, {"role", "assistant"}, {"status", "completed"}, {"content", parts}}
}

// responsesCalls returns reasoning, n calls and their outputs: 2n+1 items at most.
func (g *generator) responsesCalls(n int) arr {
	var out, outputs arr
	if g.odd(2) {
		out = append(out, g.reasoning())
	}
	for range n {
		id := g.id("call_")
		if g.odd(6) {
			out = append(out, obj{{"type", "custom_tool_call"}, {"id", g.id("ctc_")}, {"call_id", id}, {"name", "patch"}, {"input", g.text(8)}})
			outputs = append(outputs, obj{{"type", "custom_tool_call_output"}, {"call_id", id}, {"output", g.output()}})
			continue
		}
		call := obj{{"type", "function_call"}, {"call_id", id}, {"name", g.tool()}, {"arguments", g.arguments()}}
		if g.one(2) {
			call = append(call, member{"id", g.id("fc_")}, member{"status", "completed"})
		}
		out = append(out, g.extra(call))
		var output any = g.output()
		if g.odd(4) {
			output = arr{obj{{"type", "input_text"}, {"text", g.output()}}, obj{{"type", "input_image"}, {"image_url", "https://example.com/a.png"}}}
		}
		outputs = append(outputs, g.extra(obj{{"type", "function_call_output"}, {"call_id", id}, {"output", output}}))
	}
	g.r.Shuffle(n, func(i, j int) { outputs[i], outputs[j] = outputs[j], outputs[i] })
	return append(out, outputs...)
}
