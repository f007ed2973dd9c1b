package message

// item reads an item of the Responses API that stands beside the messages: a call, a result or
// anything else.
func (c *codec) item(root int32, kind string) error {
	c.m.origin.form = FormResponses
	c.linkItem(root, kind)
	switch kind {
	case "tool_search_call", "tool_search_output":
		if c.tree.member(root, "call_id") == nil {
			break // the API searches by itself
		}
		if kind == "tool_search_call" {
			return c.itemCall(root)
		}
		return c.itemResult(root)
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return c.itemCall(root)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "computer_call_output":
		return c.itemResult(root)
	case "reasoning", "compaction", "compaction_summary", "item_reference":
		c.whole(root, RoleAssistant, Thinking)
		return nil
	case "mcp_approval_response":
		c.whole(root, RoleTool, Unknown)
		return nil
	}
	c.whole(root, RoleAssistant, Unknown)
	return nil
}

// whole makes the item one part.
func (c *codec) whole(root int32, role Role, kind Kind) {
	n := c.tree.nodes[root]
	c.m.Role, c.m.Parts = role, []Part{{Kind: kind, raw: n.raw, place: inItem}}
}

// itemCall reads a call. The arguments of a shell call are its action. Those of a search for tools
// are an object.
func (c *codec) itemCall(root int32) error {
	id, err := c.text(root, "call_id")
	if err != nil {
		return err
	}
	p := Part{Kind: ToolCall, ID: id, Name: c.some(root, "name", "type"), Arguments: c.some(root, "arguments", "input"), raw: c.tree.nodes[root].raw, place: inItem}
	for _, of := range [...]string{"action", "operation", "arguments"} {
		if action := c.tree.member(root, of); p.Arguments == "" && action != nil {
			p.Arguments = action.raw
		}
	}
	c.m.Role, c.m.Parts = RoleAssistant, []Part{p}
	return nil
}

func (c *codec) itemResult(root int32) error {
	id, err := c.text(root, "call_id")
	if err != nil {
		return err
	}
	kind := c.some(root, "type")
	if id == "" && kind == "local_shell_call_output" {
		id = c.some(root, "id") // this type has the id of the call here
	}
	p := Part{Kind: ToolResult, ID: id, raw: c.tree.nodes[root].raw, place: inItem}
	if output := c.index(root, "output"); output != none {
		switch first := c.tree.nodes[output].kind(); {
		case first == '"', first == '[' && kind != "shell_call_output":
			if p.Parts, err = c.list(output, c.chatPart); err != nil {
				return err
			}
		default: // what has no type, such as a screenshot or the output of a shell: kept as it is
			p.Parts = []Part{{Kind: Unknown, raw: c.tree.nodes[output].raw, at: c.tree.nodes[output].at - c.base, place: inValue}}
		}
	}
	c.m.Role, c.m.Parts = RoleTool, []Part{p}
	return nil
}

// linkItem notes the ids that tie an item to others.
func (c *codec) linkItem(root int32, kind string) {
	c.m.origin.refers = kind == "item_reference"
	switch kind {
	case "program", "program_output":
		c.link(c.some(root, "call_id"))
	case "mcp_approval_request":
		c.link(c.some(root, "id"))
	case "mcp_approval_response", "mcp_call":
		c.link(c.some(root, "approval_request_id"))
	}
	if caller := c.index(root, "caller"); caller != none && c.tree.nodes[caller].kind() == '{' {
		c.link(c.some(caller, "caller_id"))
	}
}

// link notes an id unless it is empty.
func (c *codec) link(id string) {
	if id != "" {
		c.m.origin.links = append(c.m.origin.links, id)
	}
}

// Compacts reports whether the message is an item of the Responses API in which the API keeps
// the history before it.
func (m *Message) Compacts() bool {
	if m.Form() != FormResponses || len(m.Parts) != 1 || m.Parts[0].Kind != Thinking || m.Parts[0].place != inItem {
		return false
	}
	t, err := parse(m.Parts[0].raw)
	if err != nil {
		return false
	}
	kind := t.member(0, "type")
	return kind != nil && (kind.raw == `"compaction"` || kind.raw == `"compaction_summary"`)
}
