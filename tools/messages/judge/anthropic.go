package judge

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Sources of the rules below. "API" is the text of the error that the service answers with,
// status 400, type invalid_request_error. The pages are under https://platform.claude.com/docs/en.
var (
	// API: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'
	anthropicID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	// agents-and-tools/tool-use: name must match the regex ^[a-zA-Z0-9_-]{1,64}$ (128 since 2025)
	anthropicTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	// API: source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'
	imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
)

// block is a content block and its place.
type block struct {
	message, index int
	value          map[string]any
	kind           string
}

func (b *block) refuse(member, rule string, detail ...any) error {
	place := at("content", b.index)
	if member != "" {
		place = at(place, member)
	}
	return refuse(b.message, place, rule, detail...)
}

// anthropicRules holds a body against the rules of the Messages API.
func anthropicRules(root map[string]any) error {
	messages, err := messageObjects(root, "messages")
	if err != nil {
		return err
	}
	for _, name := range []string{"model", "max_tokens"} { // API: max_tokens: Field required
		if root[name] == nil {
			return refuse(-1, name, "the member is required")
		}
	}
	if err := anthropicRoles(messages); err != nil {
		return err
	}
	content := make([][]block, len(messages))
	for i, m := range messages {
		if content[i], err = anthropicContent(i, m, i == len(messages)-1); err != nil {
			return err
		}
		for j := range content[i] {
			if err := anthropicBlock(str(m, "role"), &content[i][j]); err != nil {
				return err
			}
		}
	}
	if err := anthropicCalls(messages, content); err != nil {
		return err
	}
	if err := anthropicServerCalls(content); err != nil {
		return err
	}
	if err := anthropicThinking(root, messages, content); err != nil {
		return err
	}
	return anthropicCacheMarks(root, content)
}

// anthropicRoles checks who speaks when.
func anthropicRoles(messages []map[string]any) error {
	for i, m := range messages {
		switch role := str(m, "role"); role {
		case "user", "assistant":
			// API: messages: first message must use the "user" role
			if i == 0 && role != "user" {
				return refuse(0, "role", "the first message is of the user", role)
			}
		case "system":
			// build-with-claude/mid-conversation-system-messages, limitations: after a user
			// message (or server tools of the assistant), at the end or before the assistant,
			// no two in a row, never first.
			if i == 0 || str(messages[i-1], "role") == "system" {
				return refuse(i, "role", "a system message follows a message of the user")
			}
			if str(messages[i-1], "role") == "assistant" && !endsInServerTool(messages[i-1]) {
				return refuse(i, "role", "a system message follows a message of the user")
			}
			if i+1 < len(messages) && str(messages[i+1], "role") != "assistant" {
				return refuse(i, "role", "the assistant speaks after a system message")
			}
		default:
			// API: messages.0.role: Input should be 'user' or 'assistant'
			return refuse(i, "role", "the role is unknown", m["role"])
		}
	}
	return nil
}

func endsInServerTool(m map[string]any) bool {
	l := list(m, "content")
	if len(l) == 0 {
		return false
	}
	kind := str(object(l[len(l)-1]), "type")
	return kind == "server_tool_use" || isServerResult(kind)
}

// anthropicContent returns the blocks of a message; a text counts as one block.
func anthropicContent(i int, m map[string]any, last bool) ([]block, error) {
	switch c := m["content"].(type) {
	case string:
		c = strings.TrimSpace(c)
		if c == "" && (!last || str(m, "role") != "assistant") {
			// API: messages.1: all messages must have non-empty content except for the optional final assistant message
			return nil, refuse(i, "content", "content is not empty")
		}
		value := map[string]any{"type": "text", "text": m["content"]}
		if c == "" {
			return nil, nil
		}
		return []block{{i, 0, value, "text"}}, nil
	case []any:
		if len(c) == 0 && (!last || str(m, "role") != "assistant") {
			return nil, refuse(i, "content", "content is not empty")
		}
		out := make([]block, len(c))
		for j, v := range c {
			o, ok := v.(map[string]any)
			if !ok || str(o, "type") == "" {
				return nil, refuse(i, at("content", j), "a content block is an object with a type")
			}
			out[j] = block{i, j, o, str(o, "type")}
		}
		return out, nil
	}
	return nil, refuse(i, "content", "content is a text or a list of blocks")
}

// The types that only one role may have. API: `tool_use` blocks can only be in `assistant`
// messages; `tool_result` blocks can only be in `user` messages.
var (
	assistantOnly = []string{"tool_use", "server_tool_use", "thinking", "redacted_thinking", "mcp_tool_use", "mcp_tool_result"}
	userOnly      = []string{"tool_result", "image", "document", "search_result", "container_upload"}
)

// anthropicBlock checks one block by itself.
func anthropicBlock(role string, b *block) error {
	if role != "assistant" && slices.Contains(assistantOnly, b.kind) {
		return b.refuse("", "a block of this type is of the assistant", b.kind)
	}
	if role != "user" && slices.Contains(userOnly, b.kind) {
		return b.refuse("", "a block of this type is of the user", b.kind)
	}
	switch b.kind {
	case "text":
		return anthropicText(b, "text", b.value)
	case "image":
		return anthropicImage(b, "", b.value)
	case "document":
		if object(b.value["source"]) == nil {
			return b.refuse("source", "the member is required")
		}
	case "tool_use", "server_tool_use", "mcp_tool_use":
		if id := str(b.value, "id"); !anthropicID.MatchString(id) {
			return b.refuse("id", "the id of a call has letters, digits, _ and - only", id)
		}
		if name := str(b.value, "name"); !anthropicTool.MatchString(name) {
			return b.refuse("name", "the name of a tool has letters, digits, _ and - only", name)
		}
		if object(b.value["input"]) == nil { // API: tool_use.input: Input should be a valid dictionary
			return b.refuse("input", "the input of a call is an object")
		}
	case "tool_result":
		return anthropicResult(b)
	case "thinking":
		// API: thinking.signature: Field required; thinking.thinking: Field required
		if str(b.value, "signature") == "" {
			return b.refuse("signature", "thinking has its signature")
		}
		if _, ok := b.value["thinking"].(string); !ok {
			return b.refuse("thinking", "the member is required")
		}
	case "redacted_thinking":
		if str(b.value, "data") == "" { // API: redacted_thinking.data: Field required
			return b.refuse("data", "redacted thinking has its data")
		}
	}
	return nil
}

// anthropicText checks a text. API: messages: text content blocks must be non-empty;
// messages: text content blocks must contain non-whitespace text.
func anthropicText(b *block, member string, value map[string]any) error {
	if strings.TrimSpace(str(value, "text")) == "" {
		return b.refuse(member, "a text is not empty or blank")
	}
	return nil
}

// anthropicImage checks the source of an image (build-with-claude/vision).
func anthropicImage(b *block, prefix string, value map[string]any) error {
	source := object(value["source"])
	switch str(source, "type") {
	case "base64":
		if t := str(source, "media_type"); !slices.Contains(imageTypes, t) {
			return b.refuse(prefix+"source.media_type", "an image is a JPEG, PNG, GIF or WebP", t)
		}
		// API: image.source.base64: invalid base64 data
		if data := str(source, "data"); data == "" || !isBase64(data) {
			return b.refuse(prefix+"source.data", "the data is base64")
		}
	case "url", "file":
	default:
		return b.refuse(prefix+"source.type", "an image has a source", str(source, "type"))
	}
	return nil
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// anthropicResult checks a tool_result by itself.
func anthropicResult(b *block) error {
	if str(b.value, "tool_use_id") == "" {
		return b.refuse("tool_use_id", "the member is required")
	}
	empty := false
	switch c := b.value["content"].(type) {
	case nil:
		empty = true
	case string:
		empty = c == ""
	case []any:
		empty = len(c) == 0
		for j, v := range c {
			o := object(v)
			switch kind := str(o, "type"); kind {
			case "text":
				if err := anthropicText(b, at("content", j, "text"), o); err != nil {
					return err
				}
			case "image":
				if err := anthropicImage(b, at("content", j)+".", o); err != nil {
					return err
				}
			case "document", "search_result", "tool_reference":
			default:
				// API: tool_result.content.0: Input tag 'x' found using 'type' does not match any of the expected tags
				if !isNew(kind) {
					return b.refuse(at("content", j), "a result holds text, images, documents and search results", kind)
				}
			}
		}
	default:
		return b.refuse("content", "the content of a result is a text or a list of blocks")
	}
	// API: tool_result: content cannot be empty if `is_error` is true
	if empty && b.value["is_error"] == true {
		return b.refuse("content", "a result that is an error says which")
	}
	return nil
}

// anthropicCalls checks that each call is answered once, in the next message, before
// anything else (agents-and-tools/tool-use/handle-tool-calls and .../parallel-tool-use).
func anthropicCalls(messages []map[string]any, content [][]block) error {
	seen := map[string]bool{}
	for i := range content {
		open := map[string]*block{}
		for j := range content[i] {
			b := &content[i][j]
			if b.kind != "tool_use" {
				continue
			}
			id := str(b.value, "id")
			if seen[id] { // API: messages: `tool_use` ids must be unique
				return b.refuse("id", "the id of a call is unique", id)
			}
			seen[id] = true
			open[id] = b
		}
		if err := anthropicAnswers(i, content, open); err != nil {
			return err
		}
	}
	if len(content) > 0 { // API: messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks
		for j := range content[0] {
			if b := &content[0][j]; b.kind == "tool_result" {
				return b.refuse("tool_use_id", "a result answers a call of the message before", str(b.value, "tool_use_id"))
			}
		}
	}
	last := messages[len(messages)-1]
	if c, ok := last["content"].(string); ok && str(last, "role") == "assistant" && c != strings.TrimRight(c, " \t\r\n") {
		return refuse(len(messages)-1, "content", trailingSpace)
	}
	if l := content[len(content)-1]; str(last, "role") == "assistant" && len(l) > 0 && l[len(l)-1].kind == "text" {
		if c := str(l[len(l)-1].value, "text"); c != strings.TrimRight(c, " \t\r\n") {
			return l[len(l)-1].refuse("text", trailingSpace)
		}
	}
	return nil
}

// API: messages: final assistant content cannot end with trailing whitespace
const trailingSpace = "the last message of the assistant does not end in white space"

// anthropicAnswers checks the results in the message after message i.
func anthropicAnswers(i int, content [][]block, open map[string]*block) error {
	answered := map[string]bool{}
	var next []block
	if i+1 < len(content) {
		next = content[i+1]
	}
	first := true
	for j := range next {
		b := &next[j]
		if b.kind != "tool_result" {
			first = false
			continue
		}
		id := str(b.value, "tool_use_id")
		if open[id] == nil {
			// API: unexpected `tool_use_id` found in `tool_result` blocks: X. Each `tool_result`
			// block must have a corresponding `tool_use` block in the previous message.
			return b.refuse("tool_use_id", "a result answers a call of the message before", id)
		}
		if answered[id] { // API: each tool_use must have a single result. Found multiple `tool_result` blocks with id: X
			return b.refuse("tool_use_id", "a call has one result", id)
		}
		if !first { // handle-tool-calls: tool result blocks must come first in the content array
			return b.refuse("", "results come before everything else", id)
		}
		answered[id] = true
	}
	for _, b := range content[i] {
		if id := str(b.value, "id"); b.kind == "tool_use" && !answered[id] {
			// API: `tool_use` ids were found without `tool_result` blocks immediately after: X
			return b.refuse("id", "a call is answered in the next message", id)
		}
	}
	return nil
}

func isServerResult(kind string) bool {
	return strings.HasSuffix(kind, "_tool_result") && kind != "mcp_tool_result"
}

// anthropicServerCalls checks that each call of a server's tool has its result in the same
// message. API: `web_search` tool use with id `X` was found without a corresponding
// `web_search_tool_result` block. The last message may stop there (stop reason pause_turn).
func anthropicServerCalls(content [][]block) error {
	for i, blocks := range content {
		open := map[string]*block{}
		for j := range blocks {
			b := &blocks[j]
			switch {
			case b.kind == "server_tool_use" || b.kind == "mcp_tool_use":
				open[str(b.value, "id")] = b
			case isServerResult(b.kind) || b.kind == "mcp_tool_result":
				id := str(b.value, "tool_use_id")
				if open[id] == nil {
					return b.refuse("tool_use_id", "a server's result follows its call in the same message", id)
				}
				delete(open, id)
			}
		}
		for j := range blocks {
			if b := &blocks[j]; open[str(b.value, "id")] == b && i < len(content)-1 {
				return b.refuse("id", "a server's call has its result in the same message", str(b.value, "id"))
			}
		}
	}
	return nil
}

// anthropicThinking checks where thinking stands (build-with-claude/extended-thinking).
func anthropicThinking(root map[string]any, messages []map[string]any, content [][]block) error {
	for _, blocks := range content {
		// API: messages.1: The final block in an assistant message cannot be `thinking`
		if n := len(blocks); n > 0 && isThinking(blocks[n-1].kind) {
			return blocks[n-1].refuse("", "thinking is not the last block", blocks[n-1].kind)
		}
	}
	if str(object(root["thinking"]), "type") != "enabled" {
		return nil
	}
	// API: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is
	// enabled, a final `assistant` message must start with a thinking block (preceeding the
	// lastmost set of `tool_use` and `tool_result` blocks).
	for i := len(messages) - 1; i >= 0; i-- {
		if str(messages[i], "role") != "assistant" {
			continue
		}
		calls := slices.ContainsFunc(content[i], func(b block) bool { return b.kind == "tool_use" })
		if calls && !isThinking(content[i][0].kind) {
			return content[i][0].refuse("", "the last message with calls begins with thinking, as thinking is enabled", content[i][0].kind)
		}
		return nil
	}
	return nil
}

func isThinking(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// anthropicCacheMarks checks the marks of prompt caching (build-with-claude/prompt-caching)
// in the order in which the API reads them: tools, system, messages.
func anthropicCacheMarks(root map[string]any, content [][]block) error {
	type holder struct {
		message      int
		member, kind string
		value        map[string]any
	}
	var holders []holder
	for _, part := range []string{"tools", "system"} {
		for j, v := range list(root, part) {
			holders = append(holders, holder{-1, at(part, j), part, object(v)})
		}
	}
	for i := range content {
		for _, b := range content[i] {
			for j, v := range list(b.value, "content") {
				if o := object(v); b.kind == "tool_result" {
					holders = append(holders, holder{i, at("content", b.index, "content", j), str(o, "type"), o})
				}
			}
			holders = append(holders, holder{i, at("content", b.index), b.kind, b.value})
		}
	}
	count, short := 0, false
	for _, b := range holders {
		mark := object(b.value["cache_control"])
		if mark == nil {
			continue
		}
		place := at(b.member, "cache_control")
		// API: A maximum of 4 blocks with cache_control may be provided. Found 5.
		if count++; count > 4 {
			return refuse(b.message, place, "at most 4 blocks have a cache mark")
		}
		// prompt-caching: thinking blocks cannot be cached directly; empty text blocks cannot be cached
		if isThinking(b.kind) {
			return refuse(b.message, place, "thinking has no cache mark")
		}
		if str(mark, "type") != "ephemeral" {
			return refuse(b.message, place, "a cache mark is ephemeral", str(mark, "type"))
		}
		// API: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block
		switch ttl := str(mark, "ttl"); ttl {
		case "", "5m":
			short = true
		case "1h":
			if short {
				return refuse(b.message, place, "a mark of 1h comes before those of 5m")
			}
		default:
			return refuse(b.message, place, "the time of a mark is 5m or 1h", fmt.Sprint(ttl))
		}
	}
	return nil
}
