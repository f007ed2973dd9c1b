package format

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// TestSealedPartsAreNoText counts messages with parts that only the API may read.
func TestSealedPartsAreNoText(t *testing.T) {
	for _, raw := range []string{
		`{"role":"assistant","content":[{"type":"thinking","thinking":"SEALED","signature":"SEALED"},{"type":"text","text":"seen"}]}`,
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"SEALED"},{"type":"text","text":"seen"}]}`,
		`{"role":"assistant","content":[{"type":"compaction","content":"SEALED"},{"type":"text","text":"seen"}]}`,
		`{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"seen","encrypted_content":"SEALED"}]}]}`,
		`{"role":"model","parts":[{"text":"SEALED","thought":true},{"text":"seen","thoughtSignature":"SEALED"}]}`,
	} {
		var m message.Message
		if err := m.UnmarshalJSON([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		var texts strings.Builder
		partTexts(m.Parts, func(s string) { texts.WriteString(s + "\n") }, func(*message.Part) {})
		if got := texts.String(); strings.Contains(got, "SEALED") || !strings.Contains(got, "seen") {
			t.Errorf("%s counts as %q", raw, got)
		}
	}
}
