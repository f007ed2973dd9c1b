package steps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// abiParts converts parts into the form that guests see. They have no content in base64, no
// text of a model's reasoning, and no signatures. level is how many lists there are, this one
// included. The result is nil beyond abi.MaxPartDepth.
func abiParts(parts []message.Part, level int) []abi.MessagePart {
	if level > abi.MaxPartDepth {
		return nil
	}
	out, index := make([]abi.MessagePart, len(parts)), make([]int, len(parts))
	for i := range parts {
		p := &parts[i]
		index[i] = i
		out[i] = abi.MessagePart{Index: &index[i], Type: string(p.Kind)}
		switch p.Kind {
		case message.Text, message.Refusal:
			out[i].Text = p.Text
		case message.ToolCall:
			out[i].ID, out[i].Name, out[i].Arguments = p.ID, p.Name, p.Arguments
		case message.ToolResult:
			out[i].ID, out[i].Name, out[i].IsError = p.ID, p.Name, p.Failed
			out[i].Parts = abiParts(p.Parts, level+1)
		case message.Image, message.Document, message.Audio:
			out[i].Media = abiMedia(p.Media)
			if len(p.Parts) > 0 {
				out[i].Parts = abiParts(p.Parts, level+1)
			}
		}
	}
	return out
}

// abiMedia describes a medium without its content.
func abiMedia(m *message.Media) *abi.MessageMedia {
	if m == nil {
		return nil
	}
	content := strings.TrimRight(m.Data, "=")
	out := &abi.MessageMedia{Type: m.Type, URL: m.URL, FileID: m.FileID, Title: m.Title, Detail: m.Detail}
	out.Bytes = len(content)/4*3 + len(content)%4*3/4 + len(m.Text)
	if scheme, data, ok := strings.Cut(m.URL, ":"); ok && strings.EqualFold(strings.TrimSpace(scheme), "data") {
		out.URL, out.Bytes = "", len(data) // the URL is the content, in a spelling that is not base64
	}
	return out
}

// errForeignParts is the error about parts of a message that the host did not send.
var errForeignParts = errors.New("parts of a message that the host did not send: parts edit a message whose other members stay as they were sent " +
	"(leave out parts to make a new message)")

// editMessage returns a message with the parts that a guest answered; nil means all of them. What
// the guest did not change is later written byte for byte as it came.
func editMessage(m *pipeline.Message, in *abi.Message) (pipeline.Message, error) {
	if in.Parts == nil {
		return *m, nil
	}
	err := in.CheckParts(&abi.Message{Role: string(m.Role), Parts: abiParts(m.Parts, 1)})
	if err != nil {
		return pipeline.Message{}, err
	}
	out := *m
	if out.Parts = editParts(in.Parts, m.Parts); out.Equal(m) {
		return *m, nil
	}
	if m.Raw() == "" {
		return out, nil
	}
	if _, err := out.Append(nil, message.FormAny); err != nil { // some changes have no place in the form of the message
		return pipeline.Message{}, fmt.Errorf("parts: %w", err)
	}
	return out, nil
}

// editParts returns the old parts as a guest wants them, after CheckParts.
func editParts(in []abi.MessagePart, old []message.Part) []message.Part {
	out := make([]message.Part, len(in))
	for i := range in {
		p := &in[i]
		if p.Index == nil {
			out[i] = message.Part{Kind: message.Text, Text: p.Text}
			continue
		}
		out[i] = old[*p.Index]
		switch {
		case p.IsWhole():
		case out[i].Kind == message.Text:
			out[i].Text = p.Text
		case out[i].Kind == message.ToolResult && p.Parts != nil:
			out[i].Parts = editParts(p.Parts, out[i].Parts)
		}
	}
	return out
}
