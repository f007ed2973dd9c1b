package providers

import (
	"os"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// TestSystemsWithinAList cuts a recorded request, which has messages of the system after messages
// of the user, to each number of messages. The API takes a message of the system only there, and
// lets nobody but the assistant speak after it.
func TestSystemsWithinAList(t *testing.T) {
	data, err := os.ReadFile("../../testdata/messages/claude-code-last.json")
	if err != nil {
		t.Fatal(err)
	}
	body, err := message.DecodeBody(data, message.FormAnthropic)
	if err != nil {
		t.Fatal(err)
	}
	kept, dropped := 0, 0
	for most := 2; most < len(body.Messages); most++ {
		for _, p := range []agent.Provider{
			truncation(t, TruncationConfig{MaxMessages: most}),
			compaction(t, CompactionConfig{TriggerMessages: most, KeepMessages: most - 1}),
		} {
			s := agent.State{Messages: body.Messages}
			list := apply(t, p, &s, body.Messages, agent.Budget{})
			if list == nil {
				continue
			}
			out, err := body.Append(nil, list)
			if err != nil {
				t.Fatal(err)
			}
			after, err := message.DecodeBody(out, message.FormAnthropic)
			if err != nil {
				t.Fatal(err)
			}
			n := checkWithin(t, after.Messages)
			kept, dropped = kept+n, dropped+2-n
		}
	}
	if kept == 0 || dropped == 0 {
		t.Errorf("%d messages of the system kept, %d dropped: want both", kept, dropped)
	}
}

// checkWithin checks where messages of the system stand within a list, and counts them.
func checkWithin(t *testing.T, list []pipeline.Message) (n int) {
	t.Helper()
	list = list[1:] // the system prompt
	for i := range list {
		if list[i].Role != pipeline.RoleSystem {
			continue
		}
		n++
		if i == 0 || list[i-1].Role != pipeline.RoleUser || i+1 < len(list) && list[i+1].Role != pipeline.RoleAssistant {
			t.Errorf("messages[%d] of %d: a message of the system in the wrong place", i, len(list))
		}
	}
	return n
}
