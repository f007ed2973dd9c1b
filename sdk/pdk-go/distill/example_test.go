package distill_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/distill"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	distill.Handle(func(r *distill.Request, _ *struct{}) (distill.Reply, error) {
		if r.Mode == distill.Reflect {
			return distill.Reflection(strings.Join(r.Observations, "; ")), nil
		}
		var notes []string
		for _, m := range r.Messages {
			if m.Role == "user" {
				notes = append(notes, m.Content)
			}
		}
		return distill.Add(notes...), nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.DistillReply](abi.OpDistill, abi.DistillRequest{
		Mode:     distill.Observe,
		Messages: []abi.Message{{Role: "user", Content: "my order is late"}, {Role: "assistant", Content: "I see"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Add)
	// Output: [my order is late]
}

func TestReplies(t *testing.T) {
	many := make([]string, abi.MaxObservations+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if got := distill.Add(many...).Add; len(got) != abi.MaxObservations || got[0] != "1" {
		t.Errorf("%d observations from %q", len(got), got[0])
	}
	if got := distill.Add(" ", "\n").Add; got == nil || len(got) != 0 {
		t.Errorf("blanks: %q", got)
	}
	reply, err := pdktest.Document[abi.DistillReply](abi.OpDistill, abi.DistillRequest{Mode: distill.Reflect})
	if err != nil || reply != nil {
		t.Errorf("a reflection on nothing: %+v, %v", reply, err)
	}
}
