// Package format makes a plugin a formatter: it turns the finished window into
// the document that a model receives. Importing it adds the export anchor_format.
//
//	type Settings struct {
//		Title string `json:"title"`
//	}
//
//	func init() {
//		format.Handle("markdown", func(w *format.Window, s *Settings) (any, error) {
//			text := "# " + s.Title + "\n"
//			for _, it := range w.Items {
//				text += "\n## " + it.ID + "\n" + it.Content + "\n"
//			}
//			return text, nil
//		})
//	}
package format

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

// Window is the finished window: its items in order, the number of tokens that they take,
// the largest number of tokens that fits, and the question that ends the output.
type Window = abi.FormatRequest

var lane = serve.NewDocument(abi.OpFormat)

func init() { lane.Export(onJSON) }

// Handle registers f. formatType, such as "markdown", is the format type of the results. f
// returns a string, or any value that encodes as JSON.
func Handle[S any](formatType string, f func(w *Window, s *S) (output any, err error)) {
	serve.HandleDocument(lane, settingsOf, func(w *Window, s *S) (abi.FormatReply, error) {
		output, err := f(w, s)
		if err != nil {
			return abi.FormatReply{}, err
		}
		doc, err := json.Marshal(output)
		if err != nil {
			return abi.FormatReply{}, pdk.Errorf("format: encode output: %w", err)
		}
		return abi.FormatReply{FormatType: formatType, Output: doc}, nil
	})
}

func settingsOf(w *Window) json.RawMessage { return w.Settings }

//go:wasmexport anchor_format
func onJSON() int32 { return lane.JSON() }
