package ask

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestInto(t *testing.T) {
	busy := &pdk.ServiceError{Service: "llm", Word: services.Budget, Message: "spent"}
	for _, c := range []struct {
		answer pdk.LLMAnswer
		want   string // of the error
	}{
		{pdk.LLMAnswer{JSON: []byte(`{"n": 7}`)}, ""},
		{pdk.LLMAnswer{JSON: []byte(`{"n": "seven"}`)}, "llm: the answer is not what the schema asks for: json: cannot unmarshal string into Go struct field .N of type int"},
		{pdk.LLMAnswer{Text: "seven"}, "llm: the answer is not what the schema asks for: unexpected end of JSON input"},
		{pdk.LLMAnswer{Err: busy}, "llm: budget: spent"},
	} {
		pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer {
			if r.Model != "small" || len(r.Messages) != 2 || r.Messages[1].Content != "x" || string(r.Schema) != "{}" || r.Temperature != nil || r.MaxTokens != 5 {
				t.Errorf("request %+v", r)
			}
			return c.answer
		}})
		var got struct{ N int }
		err := Into(Question{Model: "small", Task: "count", Text: "x", Schema: "{}", MaxTokens: 5}, &got)
		if text := message(err); text != c.want || c.want == "" && got.N != 7 {
			t.Errorf("got %+v, %s; want %s", got, text, c.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// One answer is enough to go on with.
func TestTexts(t *testing.T) {
	none := &pdk.ServiceError{Service: "llm", Word: services.Timeout}
	pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer {
		if r.Schema != nil {
			t.Error("a schema for a text")
		}
		if text := r.Messages[1].Content; text != "gone" {
			return pdk.LLMAnswer{Text: " " + text + "\n"}
		}
		return pdk.LLMAnswer{Err: none}
	}})
	if got, err := Texts(Question{Text: "gone"}, Question{Text: "a"}); err != nil || !reflect.DeepEqual(got, []string{"", "a"}) {
		t.Errorf("%q, %v", got, err)
	}
	var missing *pdk.ServiceError
	if got, err := Texts(Question{Text: "gone"}, Question{Text: "gone"}); got != nil || !errors.As(err, &missing) || missing.Word != none.Word {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{0, ""}, {1, "a"}, {2, "a"}, {3, "aé"}, {99, "aéb"}} {
		if got := Cut("aéb", c.n); got != c.want {
			t.Errorf("%d bytes: %q, want %q", c.n, got, c.want)
		}
	}
}

// Any number of questions is asked, as many at a time as the host takes, and in their order.
func TestAll(t *testing.T) {
	asked := 0
	pdktest.Use(t, pdktest.Services{LLM: func(r services.LLMRequest) pdk.LLMAnswer {
		asked++
		return pdk.LLMAnswer{JSON: []byte(r.Messages[1].Content[:3])}
	}})
	var questions []Question
	for i := range 70 {
		questions = append(questions, Question{Text: fmt.Sprint(100+i) + strings.Repeat(" ", i%5*100_000)})
	}
	got, err := All[int](questions)
	if err != nil || len(got) != 70 || asked != 70 || got[0] != 100 || got[69] != 169 {
		t.Errorf("%v after %d, %v", got, asked, err)
	}
	if got, err := All[int](nil); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
