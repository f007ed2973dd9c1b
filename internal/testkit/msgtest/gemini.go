package msgtest

func (g *generator) gemini() obj {
	var contents, answers arr
	for i := range g.Messages {
		role, parts := "user", answers
		switch {
		case i%2 == 1:
			role = "model"
			parts, answers = g.geminiModel(i+1 < g.Messages)
		case len(answers) == 0:
			parts = g.geminiUser()
		}
		contents = append(contents, g.extra(obj{{"role", role}, {"parts", parts}}))
	}
	var declared arr
	for _, name := range tools {
		declared = append(declared, obj{{"name", name}, {"description", g.text(6)}, {"parametersJsonSchema", g.schema()}})
	}
	return g.extra(obj{
		{"systemInstruction", obj{{"parts", arr{obj{{"text", g.text(30)}}}}}},
		{"contents", contents}, {"tools", arr{obj{{"functionDeclarations", declared}}}},
		{"generationConfig", obj{{"maxOutputTokens", 4096}, {"temperature", raw("0.5")}}},
	})
}

func (g *generator) geminiUser() arr {
	parts := arr{g.extra(obj{{"text", g.text(20)}})}
	if g.one(6) {
		parts = append(parts, obj{{"inlineData", obj{{"mimeType", "image/png"}, {"data", png}}}})
	}
	if g.odd(8) {
		parts = append(parts, obj{{"inlineData", obj{{"mimeType", "audio/wav"}, {"data", wav}}}})
	}
	if g.odd(8) {
		parts = append(parts, obj{{"fileData", obj{{"mimeType", "application/pdf"}, {"fileUri", "https://example.com/a.pdf"}}}})
	}
	if g.odd(10) {
		parts = append(parts, obj{{"x_note", obj{{"x_t", g.text(4)}}}})
	}
	return parts
}

// geminiModel returns the parts of the model, and those of the user that answer its calls.
func (g *generator) geminiModel(mayCall bool) (parts, answers arr) {
	call := mayCall && g.act()
	if g.odd(4) {
		parts = append(parts, obj{{"text", g.text(15)}, {"thought", true}})
	}
	if g.odd(12) {
		parts = append(parts, obj{{"executableCode", obj{{"language", "PYTHON"}, {"code", "print(1)"}}}},
			obj{{"codeExecutionResult", obj{{"outcome", "OUTCOME_OK"}, {"output", "1"}}}})
	}
	if !call || g.one(2) {
		text := obj{{"text", g.text(25)}}
		if g.odd(4) {
			text = append(text, member{"thoughtSignature", g.opaque(60)})
		}
		parts = append(parts, g.extra(text))
	}
	for i := 0; call && i < g.calls(); i++ {
		name := g.tool()
		c, a := obj{{"name", name}, {"args", g.input()}}, obj{{"name", name}}
		if g.one(2) {
			id := member{"id", g.id("fc-")}
			c, a = append(c, id), append(a, id)
		}
		key := "output"
		if g.one(8) {
			key = "error"
		}
		part := obj{{"functionCall", c}}
		if i == 0 && g.odd(2) {
			part = append(part, member{"thoughtSignature", g.opaque(60)})
		}
		parts = append(parts, g.extra(part))
		answers = append(answers, g.extra(obj{{"functionResponse", append(a, member{"response", obj{{key, g.output()}}})}}))
	}
	return parts, answers
}
