package host_test

import (
	"cmp"
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

func prepared(t *testing.T, p *host.Plugin, op abi.Operation) *host.Operation {
	t.Helper()
	o, err := p.Operation(op, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Answers with changes are had as changes only, which are held to the grant.
func TestOperationsAnswerInOneWay(t *testing.T) {
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{})
	for _, info := range abi.Operations {
		if info.Op == abi.OpInit {
			continue
		}
		o := prepared(t, p, info.Op)
		_, changesErr := o.Changes(t.Context(), nil, &abi.Envelope{})
		_, askErr := o.Ask(t.Context(), abi.QueryRequest{}, new(abi.Changes))
		_, itemsErr := o.AskItems(t.Context(), nil, &abi.Envelope{}, new(abi.Changes))
		documents := info.Reply != "Changes" && info.Reply != "MemoryReply"
		if errors.Is(changesErr, host.ErrNoOperation) != documents || errors.Is(askErr, host.ErrNoOperation) == documents ||
			errors.Is(itemsErr, host.ErrNoOperation) == documents {
			t.Errorf("%s: changes %v, document %v and %v", info.Op, changesErr, askErr, itemsErr)
		}
	}
}

// What a retrieve answers beyond top_k is left out, and the rest is counted.
func TestTopKOfRetrieve(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "add-two", host.PluginConfig{})
	for topK, want := range map[int]int{0: 2, 1: 1, 2: 2, 9: 2} {
		env := abi.Envelope{TopK: topK}
		answer, err := prepared(t, p, abi.OpRetrieve).Changes(t.Context(), nil, &env)
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Changes.Items) != want || len(answer.Tokens) != want || env.TopK != topK || answer.TopK != cmp.Or(topK, host.DefaultTopK) {
			t.Errorf("top_k %d: %d items with %d counts of %d, then %d", topK, len(answer.Changes.Items), len(answer.Tokens), answer.TopK, env.TopK)
		}
		answer.Release()
	}
}

// One request serves several operations: what one of them may not read is there for the next.
func TestRequestsAreNotChanged(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "add-two", host.PluginConfig{})
	narrow, err := p.Operation(abi.OpRetrieve, host.OperationOptions{Reads: []string{}, TopK: 1})
	if err != nil {
		t.Fatal(err)
	}
	query := &abi.Query{Text: "q", Metadata: abi.Metadata{"k": 1}}
	env := abi.Envelope{Query: query, TokensLeft: 3, Settings: []byte("{}")}
	answer, err := narrow.Changes(t.Context(), nil, &env)
	if err != nil {
		t.Fatal(err)
	}
	answer.Release()
	if env.Query != query || query.Text != "q" || env.TopK != 0 || string(env.Settings) != "{}" {
		t.Errorf("the request became %+v", env)
	}
	classify := prepared(t, load(t, newHost(t, host.Config{}), "documents", host.PluginConfig{}), abi.OpClassify)
	_, err = classify.AskItems(t.Context(), nil, &env, new(abi.ClassifyReply))
	if env.Query != query || string(env.Settings) != "{}" {
		t.Errorf("the request became %+v, error %v", env, err)
	}
}

// What is decoded of an answer counts until it is released.
func TestAnswersAreReleased(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign-step", host.PluginConfig{})
	upper, err := p.Function("upper", host.FunctionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := upper.Changes(t.Context(), nil, &abi.Envelope{Query: &abi.Query{Text: string(make([]byte, 100_000))}})
	if err != nil {
		t.Fatal(err)
	}
	_, held := host.Usage(h)
	answer.Release()
	answer.Release()
	if _, after := host.Usage(h); after > held-100_000 {
		t.Errorf("%d bytes with an answer of 100,000, %d without", held, after)
	}
}
