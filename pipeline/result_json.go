package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/internal/appendjson"
)

// AppendJSON appends the result document on one line, without escapes for HTML.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) { return appendjson.Append(dst, r) }

// AppendWithout is like [Result.AppendJSON], without the members that omit names: window,
// formatted_output, overflow_items, diagnostics. The texts of a window are in its items and in its output.
func (r *Result) AppendWithout(dst []byte, omit ...string) ([]byte, error) {
	if len(omit) == 0 {
		return r.AppendJSON(dst)
	}
	type plain Result
	doc := struct {
		Window      *Window        `json:"window,omitzero"`
		Output      any            `json:"formatted_output,omitzero"`
		Overflow    []OverflowItem `json:"overflow_items,omitzero"`
		Diagnostics *Diagnostics   `json:"diagnostics,omitzero"`
		*plain                     // the others
	}{r.Window, r.Output, r.Overflow, r.Diagnostics, (*plain)(r)}
	if slices.Contains(omit, "window") {
		doc.Window = nil
	}
	if slices.Contains(omit, "formatted_output") {
		doc.Output = nil
	}
	if slices.Contains(omit, "overflow_items") {
		doc.Overflow = nil
	}
	if slices.Contains(omit, "diagnostics") {
		doc.Diagnostics = nil
	}
	return appendjson.Append(dst, &doc)
}
