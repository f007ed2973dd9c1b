// Package media says how many tokens images, documents, sounds and tool definitions take, by the
// rules that the providers of models publish.
//
//	e := media.Count("gpt-4o", media.Part{Kind: media.Image, Data: base64})
//	fmt.Println(e.Low, e.High, e.Source)
//
// Count reads only the beginning of the content: the size of an image, the length of a sound, and
// the number of pages of some documents. Where a rule or the content leaves the number open, the
// result is an interval. Its upper end is safe to fill a window with.
package media

// Count returns the tokens of a part for a model. A model of an unknown provider gets the bounds
// of all known rules. Count takes microseconds and little memory, whatever the size of the content.
func Count(model string, p Part) Estimate {
	rules := rulesOf(model)
	switch p.Kind {
	case Image:
		if !validSize(p.Width, p.Height) {
			p.Width, p.Height = imageSize(p.content(maxHeader))
		}
		return rules.image(p)
	case Audio:
		return rules.sound(p.length())
	case Document:
		return rules.document(p.pages())
	}
	return Estimate{0, bounded(float64(p.size())), "one token for each byte at most: an unknown kind of content"}
}

// Tools returns the tokens of tool definitions. tokens is the count of their JSON text, and tools
// their number.
func Tools(model string, tokens, tools int) Estimate {
	if tokens <= 0 || tools <= 0 {
		return Estimate{Source: "no tools"}
	}
	return rulesOf(model).tools(min(tokens, maxTokens), min(tools, maxTokens))
}
