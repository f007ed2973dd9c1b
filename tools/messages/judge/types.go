package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// geminiRequest is the body of generateContent. The SDK has a type for each member, none for all.
type geminiRequest struct {
	Contents          []*genai.Content        `json:"contents,omitempty"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	SafetySettings    []*genai.SafetySetting  `json:"safetySettings,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
	CachedContent     string                  `json:"cachedContent,omitempty"`
}

func anthropicTypes(root map[string]any) error {
	return roundTrip(root, "messages", func(m map[string]any) any { return &anthropic.BetaMessageParam{} }, &anthropic.BetaMessageNewParams{})
}

func chatTypes(root map[string]any) error {
	return roundTrip(root, "messages", func(map[string]any) any { return &openai.ChatCompletionMessageParamUnion{} }, &openai.ChatCompletionNewParams{})
}

func geminiTypes(root map[string]any) error {
	return roundTrip(root, "contents", func(map[string]any) any { return &genai.Content{} }, &geminiRequest{})
}

// responsesTypes takes off what Codex 0.169 sends and the SDK has no members for: the id of each
// message of the input, the status of a custom call, and client_metadata of the body. Then it chooses among the three kinds of messages itself: the SDK's union loses a
// message without a type, and the id of a message of the assistant.
func responsesTypes(root map[string]any) error {
	delete(root, "client_metadata")
	return roundTrip(root, "input", func(it map[string]any) any {
		if itemType(it) != "message" {
			if itemType(it) == "custom_tool_call" {
				delete(it, "status")
			}
			return &responses.ResponseInputItemUnionParam{}
		}
		if str(it, "role") != "assistant" {
			delete(it, "id")
			return &responses.EasyInputMessageParam{}
		}
		if _, text := it["content"].(string); text {
			return &responses.EasyInputMessageParam{}
		}
		return &responses.ResponseOutputMessageParam{}
	}, &responses.ResponseNewParams{})
}

// roundTrip decodes a body into the SDK's types and encodes it again: each message by itself,
// as a union that the SDK cannot decode takes all its neighbours with it, and then the rest.
// The SDKs drop what they do not know without an error, so what is lost is what the API's
// types do not have.
func roundTrip(root map[string]any, messages string, message func(map[string]any) any, rest any) error {
	for i, v := range list(root, messages) {
		if err := sameAfter(object(v), i, message(object(v))); err != nil {
			return err
		}
	}
	before := map[string]any{}
	for k, v := range root {
		// The SDKs choose streaming by method, so that their types have no member for it.
		if k != "stream" && k != messages {
			before[k] = v
		}
	}
	return sameAfter(before, -1, rest)
}

// sameAfter checks that a value comes out of the SDK as it went in.
func sameAfter(before map[string]any, message int, params any) error {
	body, err := json.Marshal(before)
	if err != nil {
		return refuse(message, "", "the body cannot be written as JSON", err)
	}
	if err := json.Unmarshal(body, params); err != nil {
		return refuse(message, "", "the SDK cannot decode it", err)
	}
	out, err := json.Marshal(params)
	if err != nil {
		return refuse(message, "", "the SDK cannot encode what it decoded", err)
	}
	after, err := read(out)
	if err != nil {
		return refuse(message, "", "the SDK cannot encode what it decoded", err)
	}
	if lost := firstLost(before, after, nil); lost != nil {
		return refuse(message, strings.Join(lost.path, "."), "the API's types do not have it", lost.what)
	}
	return nil
}

type loss struct {
	path []string
	what string
}

// firstLost returns what of a is not in b, or nil. Members that only b has are constants that
// the SDK adds. A null is the same as no member, and a text the same as a list of one text.
func firstLost(a, b any, path []string) *loss {
	switch a := a.(type) {
	case nil:
		return nil
	case map[string]any:
		bo, ok := b.(map[string]any)
		if !ok && len(a) > 0 {
			return &loss{path, "an object is gone"}
		}
		names := make([]string, 0, len(a))
		for k := range a {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			if l := firstLost(a[k], bo[k], append(slices.Clone(path), k)); l != nil {
				return l
			}
		}
		return nil
	case []any:
		bl, ok := b.([]any)
		if (!ok && len(a) > 0) || len(a) != len(bl) {
			return &loss{path, fmt.Sprintf("a list of %d elements comes back with %d", len(a), len(bl))}
		}
		for i := range a {
			if l := firstLost(a[i], bl[i], append(slices.Clone(path), strconv.Itoa(i))); l != nil {
				return l
			}
		}
		return nil
	case json.Number:
		if n, ok := b.(json.Number); ok && sameNumber(a, n) {
			return nil
		}
	case string:
		if a == b || a == onlyText(b) || (a == "" && b == nil) {
			return nil
		}
	default:
		if a == b || (a == false && b == nil) {
			return nil
		}
	}
	return &loss{path, fmt.Sprintf("%.60v comes back as %.60v", a, b)}
}

// onlyText is the text of a list that holds one text block and nothing else. The SDK of
// Anthropic writes each content that is a string this way; the API takes both as the same.
func onlyText(v any) any {
	l, ok := v.([]any)
	if !ok || len(l) != 1 {
		return nil
	}
	return object(l[0])["text"]
}

// sameNumber compares two numbers by value: 1e2 and 100 are the same.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if len(a) > 64 || len(b) > 64 {
		return false
	}
	x, errX := strconv.ParseFloat(a.String(), 64)
	y, errY := strconv.ParseFloat(b.String(), 64)
	if errors.Is(errX, strconv.ErrRange) || errors.Is(errY, strconv.ErrRange) {
		return false
	}
	if x == y {
		return true
	}
	r, okX := new(big.Rat).SetString(a.String())
	s, okY := new(big.Rat).SetString(b.String())
	return okX && okY && r.Cmp(s) == 0
}
