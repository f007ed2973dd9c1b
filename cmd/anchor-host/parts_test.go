package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// imageParts are the parts of an item, as each API writes an image.
var imageParts = map[message.Form]string{
	message.FormAnthropic: `[{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]`,
	message.FormOpenAI:    `[{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]`,
	message.FormResponses: `[{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]`,
	message.FormGemini:    `[{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]`,
}

// withParts is a request with an item that has parts.
func withParts(format, fit, parts string) string {
	return fmt.Sprintf(`{"query": "what is it?", "format": %q, "window": {"fit": %q, "max_tokens": 3000}, "items": [
		{"id": "plain", "content": "a dog barks", "source": "retrieval"},
		{"id": "drawn", "content": "a cat on a mat", "source": "retrieval", "parts": %s}]}`, format, fit, parts)
}

// The image of a retrieved item goes into the window in the form of each API, and counts.
func TestItemsKeepImages(t *testing.T) {
	t.Parallel()
	for from, parts := range imageParts {
		for _, to := range message.Forms {
			for _, fit := range []string{"items", "exact"} {
				out := must(t, withParts(string(to), fit, parts), "build", "--strict", "--request", "-")
				var doc struct {
					Window struct {
						Items []struct {
							ID     string `json:"id"`
							Tokens int    `json:"token_count"`
							Parts  []any
						}
					}
				}
				if err := json.Unmarshal([]byte(out), &doc); err != nil {
					t.Fatal(err, out)
				}
				if n := len(doc.Window.Items); n != 2 {
					t.Errorf("%s to %s: %d items, want both", from, to, n)
				}
				for _, it := range doc.Window.Items {
					if drawn := it.ID == "drawn"; drawn != (it.Tokens > 1000) || drawn != (len(it.Parts) == 1) {
						t.Errorf("%s to %s: item %s has %d tokens, parts %v", from, to, it.ID, it.Tokens, it.Parts)
					}
				}
				body, err := message.DecodeBody([]byte(outputOf(t, out)), to)
				if err == nil {
					err = message.Check(body.Messages, to)
				}
				images := 0
				for i := range body.Messages {
					for _, p := range body.Messages[i].Parts {
						if p.Kind == message.Image && p.Media != nil && strings.Contains(p.Media.Data+p.Media.URL, "iVBORw0KGgo=") {
							images++
						}
					}
				}
				if err != nil || images != 1 || !strings.Contains(out, "a cat on a mat") {
					t.Errorf("%s to %s: %d images, %v: %s", from, to, images, err, out)
				}
			}
		}
	}
}

// A part that the format has no place for is named, and one that cannot be is refused by its place.
func TestPartsWithoutAPlace(t *testing.T) {
	t.Parallel()
	code, out, stderr := run(t, withParts("generic", "items", imageParts[message.FormOpenAI]), "build", "--strict", "--request", "-")
	if code != codeDegraded || !strings.Contains(out, `"drawn: parts[0]: image"`) {
		t.Errorf("generic: %d %s %s", code, out, stderr)
	}
	for parts, want := range map[string]string{
		`7`:                               "items[1].parts",
		`[7]`:                             "items[1].parts",
		`[{}]`:                            "items[1].parts",
		`[{"type": "text", "text": "x"}]`: "items[1].parts[0]: text: invalid value (want an image, a document or a sound)",
		`[{"type": "image_url", "image_url": {}}]`:            "items[1].parts[0]: the image has no data, address or file",
		strings.Repeat("[", 9999) + strings.Repeat("]", 9999): "deep",
	} {
		code, _, stderr := run(t, withParts("openai", "items", parts), "build", "--request", "-")
		if code == codeOK || !strings.Contains(stderr, want) {
			t.Errorf("%.50s: %d %s", parts, code, stderr)
		}
	}
}

// A text that is too long is cut beside its image, which stays.
func TestTextsAreCutBesideImages(t *testing.T) {
	t.Parallel()
	for _, fit := range []string{"items", "exact"} {
		request := fmt.Sprintf(`{"query": "q", "format": "anthropic", "counting": {"model": "claude-sonnet-4-5"}, "window": {"fit": %q, "max_tokens": 2200, "truncate": "sentence"},
			"items": [{"id": "drawn", "content": %q, "source": "retrieval", "parts": %s}]}`, fit, strings.Repeat("a cat on a mat. ", 400), imageParts[message.FormAnthropic])
		out := must(t, request, "build", "--request", "-")
		var doc struct {
			Window struct {
				Items []struct {
					Content string
					Tokens  int `json:"token_count"`
					Parts   []any
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err, out)
		}
		if it := doc.Window.Items; len(it) != 1 || len(it[0].Parts) != 1 || len(it[0].Content) < 500 || len(it[0].Content) > 3000 || it[0].Tokens < 1800 {
			t.Errorf("%s: %.3000s", fit, out)
		}
	}
}

// A document of text counts by its text. A form without such parts leaves it out whole.
func TestDocumentsOfText(t *testing.T) {
	t.Parallel()
	parts := fmt.Sprintf(`[{"type": "document", "title": "notes", "source": {"type": "text", "media_type": "text/plain", "data": %q}}]`, strings.Repeat("ten words more ", 300))
	var doc struct {
		Window      struct{ Items []map[string]any }
		Diagnostics struct{ Lost []string }
	}
	if err := json.Unmarshal([]byte(must(t, withParts("anthropic", "items", parts), "build", "--request", "-")), &doc); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(doc.Window.Items, func(it map[string]any) bool { return it["id"] == "drawn" })
	if at < 0 {
		t.Fatalf("the window lacks the item with the document: %v", doc.Window.Items)
	}
	if n, ok := doc.Window.Items[at]["token_count"].(float64); !ok || n < 900 {
		t.Errorf("the item with a document of 900 words has %v tokens, want 900 or more", n)
	}
	out := must(t, withParts("openai", "items", parts), "build", "--request", "-")
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Diagnostics.Lost) != 1 || doc.Diagnostics.Lost[0] != "drawn: parts[0]: document: the form openai has no such part" {
		t.Errorf("%v, %q", err, doc.Diagnostics.Lost)
	}
	if strings.Contains(outputOf(t, out), "Part of the context") {
		t.Error("a message names a part that is not there:", out)
	}
}
