package msgtest

func (g *generator) chat() obj {
	messages := arr{obj{{"role", []string{"system", "developer"}[g.r.IntN(2)]}, {"content", g.text(30)}}}
	user := false
	for len(messages) < g.Messages {
		left := g.Messages - len(messages)
		switch {
		case !user:
			messages = append(messages, g.extra(g.chatUser()))
			user = true
		case left > 1 && g.act():
			messages = append(messages, g.chatCalls(min(g.calls(), left-1))...)
		default:
			messages = append(messages, g.extra(g.chatAssistant()))
			user = false
		}
	}
	var defined arr
	for _, name := range tools {
		defined = append(defined, obj{{"type", "function"}, {"function", obj{{"name", name}, {"description", g.text(6)}, {"parameters", g.schema()}}}})
	}
	return g.extra(obj{{"model", "gpt-5"}, {"messages", messages}, {"tools", defined}})
}

func (g *generator) chatText(n int) obj { return g.extra(obj{{"type", "text"}, {"text", g.text(n)}}) }

func (g *generator) chatUser() obj {
	if g.one(2) {
		return obj{{"role", "user"}, {"content", g.text(15)}}
	}
	parts := arr{g.chatText(20)}
	if g.one(4) {
		url := "data:image/png;base64," + png
		if g.odd(2) {
			url = "https://example.com/a.png"
		}
		parts = append(parts, obj{{"type", "image_url"}, {"image_url", obj{{"url", url}, {"detail", "low"}}}})
	}
	if g.odd(8) {
		parts = append(parts, obj{{"type", "input_audio"}, {"input_audio", obj{{"data", wav}, {"format", "wav"}}}})
	}
	if g.odd(8) {
		parts = append(parts, obj{{"type", "file"}, {"file", obj{{"filename", "a.pdf"}, {"file_data", "data:application/pdf;base64," + pdf}}}})
	}
	if g.odd(10) {
		parts = append(parts, g.unknown())
	}
	m := obj{{"role", "user"}, {"content", parts}}
	if g.odd(6) {
		m = append(m, member{"name", "ada"})
	}
	return m
}

func (g *generator) chatAssistant() obj {
	m := obj{{"role", "assistant"}}
	switch {
	case g.odd(12):
		return append(m, member{"content", nil}, member{"refusal", "I cannot do that."})
	case g.odd(12):
		return append(m, member{"content", arr{obj{{"type", "refusal"}, {"refusal", "No: " + g.text(4)}}}})
	case g.odd(20):
		return append(m, member{"audio", obj{{"id", g.id("audio_")}}})
	case g.odd(4):
		return append(m, member{"content", arr{g.chatText(12), g.chatText(12)}})
	}
	return append(m, member{"content", g.text(25)})
}

// chatCalls returns a message with n calls, and their answers.
func (g *generator) chatCalls(n int) arr {
	var calls, answers arr
	for range n {
		id := g.id("call_")
		if g.odd(8) {
			calls = append(calls, obj{{"id", id}, {"type", "custom"}, {"custom", obj{{"name", "patch"}, {"input", g.text(8)}}}})
		} else {
			calls = append(calls, g.extra(obj{{"id", id}, {"type", "function"}, {"function", obj{{"name", g.tool()}, {"arguments", g.arguments()}}}}))
		}
		var content any = g.output()
		if g.odd(4) {
			content = arr{obj{{"type", "text"}, {"text", g.output()}}}
		}
		answers = append(answers, g.extra(obj{{"role", "tool"}, {"tool_call_id", id}, {"content", content}}))
	}
	g.r.Shuffle(n, func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	m := obj{{"role", "assistant"}}
	switch {
	case g.one(2):
		m = append(m, member{"content", g.text(10)})
	case !g.odd(2): // some libraries do not read a message without the member
		m = append(m, member{"content", nil})
	}
	return append(arr{g.extra(append(m, member{"tool_calls", calls}))}, answers...)
}

// arguments returns the arguments of a call as JSON in a text.
func (g *generator) arguments() string {
	w := &writer{r: g.r, odd: !g.Simple}
	w.value(g.input())
	return w.b.String()
}
