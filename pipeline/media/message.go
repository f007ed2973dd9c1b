package media

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// assumedSeconds is the length of a sound that is not in its message.
const assumedSeconds = 60

// assumedImage is the number of tokens of an image of which nobody knows the size.
const assumedImage = 1600

// OfMessage returns the tokens of the content of a part of a message, besides its texts and the
// parts that it holds. It returns false for a part that has no such content: a text, a call, a
// result, or a document of text.
//
// Nothing is known of a content that the message only refers to by an address or a file's id. An
// image then takes 1,600 tokens at most, which is about a large one; a document is taken for one
// page, and a sound for a minute, as Source says.
func OfMessage(model string, p *message.Part) (Estimate, bool) {
	kind, ok := kindOf(p)
	if !ok {
		return Estimate{}, false
	}
	part := Part{Kind: kind}
	if m := p.Media; m != nil {
		if kind == Document && (m.Text != "" || m.Data == "" && len(p.Parts) > 0) {
			return Estimate{}, false
		}
		part.MediaType, part.Data, part.Detail = m.Type, m.Data, m.Detail
		if part.Data == "" && strings.HasPrefix(m.URL, "data:") {
			part.Data = m.URL
		}
	}
	if kind == Image {
		return ofImage(model, part), true
	}
	if part.Data != "" {
		return Count(model, part), true
	}
	assumed := ", content unknown: one page assumed"
	if kind == Audio {
		part.Seconds, assumed = assumedSeconds, ", length unknown: one minute assumed"
	}
	e := Count(model, part)
	e.Low, e.Source = 0, e.Source+assumed
	return e, true
}

// ofImage returns the tokens of an image. If nobody knows its size, the upper end is that of a
// large one: the bound of all sizes would leave no room for anything else.
func ofImage(model string, part Part) Estimate {
	part.Width, part.Height = imageSize(part.content(maxHeader))
	e := Count(model, part)
	if !validSize(part.Width, part.Height) && e.High > assumedImage {
		e.High, e.Source = assumedImage, e.Source+", a large image assumed"
	}
	return e
}

// OfParts returns the tokens of all contents in parts and in their parts, besides texts. Source
// is that of the first.
func OfParts(model string, parts []message.Part) (sum Estimate) {
	for i := range parts {
		if e, ok := OfMessage(model, &parts[i]); ok {
			sum.Source = cmp.Or(sum.Source, e.Source)
			sum = sum.Add(e)
		}
		sum = sum.Add(OfParts(model, parts[i].Parts))
	}
	return sum
}

// kindOf returns the kind of the content of a part. A content of an unknown kind, such as a video,
// counts as a document.
func kindOf(p *message.Part) (Kind, bool) {
	switch p.Kind {
	case message.Image:
		return Image, true
	case message.Document:
		return Document, true
	case message.Audio:
		return Audio, true
	case message.Unknown:
	default:
		return "", false
	}
	var named struct {
		Type string `json:"type"`
	}
	if p.Raw() != "" && json.Unmarshal([]byte(p.Raw()), &named) != nil {
		named.Type = ""
	}
	if p.Media != nil {
		named.Type += " " + p.Media.Type
	}
	for _, known := range [...]struct {
		word string
		kind Kind
	}{{"image", Image}, {"audio", Audio}, {"document", Document}, {"file", Document}, {"video", Document}} {
		if strings.Contains(named.Type, known.word) {
			return known.kind, true
		}
	}
	return Document, p.Media != nil
}
