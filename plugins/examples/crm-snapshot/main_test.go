package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// crm answers like a server, and notes what it was asked.
type crm struct {
	status int
	body   string
	asked  []pdk.HTTPRequest
}

func (c *crm) answer(r pdk.HTTPRequest) pdk.HTTPResponse {
	c.asked = append(c.asked, r)
	return pdk.HTTPResponse{Status: c.status, Body: []byte(c.body)}
}

func configure(t *testing.T, c *crm, config map[string]string, settings map[string]any) {
	t.Helper()
	pdktest.Use(t, pdktest.Services{HTTP: c.answer, Config: config})
	if err := pdktest.Init(settings); err != nil {
		t.Fatal(err)
	}
}

func ask(account any, messages ...abi.Message) abi.ProvideRequest {
	r := abi.ProvideRequest{Messages: messages, Budget: abi.ProviderBudget{Phase: "llm"}}
	if account != nil {
		r.State.Data = abi.Metadata{"account_id": account}
	}
	return r
}

// TestSeedCase is the worked example of the seed's documentation: a snapshot goes after
// a leading system message, else to the front; no account and an error change nothing.
func TestSeedCase(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/seed-cases-chain.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cases []struct {
			ID    string
			Input struct {
				Cases []struct {
					Messages     [][2]string
					Account      *string
					AccountError bool `json:"account_error"`
				}
			}
			Expected struct{ Results [][][2]string }
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Cases {
		if c.ID != "zs-09" {
			continue
		}
		for i, in := range c.Input.Cases {
			server := &crm{status: 404}
			switch {
			case in.AccountError:
				server.status = 500
			case in.Account != nil:
				server.status, server.body = 200, `{"account":"`+*in.Account+`"}`
			}
			configure(t, server, nil, map[string]any{"heading": "H"})
			got := in.Messages
			reply, err := pdktest.Document[abi.ProvideReply](abi.OpProvide, ask("a", messages(in.Messages)...))
			if (err != nil) != in.AccountError {
				t.Errorf("case %d: error %v", i, err)
			}
			if reply != nil {
				got = nil
				for _, m := range reply.Messages {
					if m.Content == "H\n"+server.body {
						m.Content = "SNAP"
					}
					got = append(got, [2]string{m.Role, m.Content})
				}
			}
			if !reflect.DeepEqual(got, c.Expected.Results[i]) {
				t.Errorf("case %d: %v, want %v", i, got, c.Expected.Results[i])
			}
		}
		return
	}
	t.Fatal("no case zs-09")
}

func messages(pairs [][2]string) (out []abi.Message) {
	for _, p := range pairs {
		out = append(out, abi.Message{Role: p[0], Content: p[1]})
	}
	return out
}

func TestRequest(t *testing.T) {
	server := &crm{status: 200, body: `{"plan": "gold"}`}
	configure(t, server, map[string]string{"token": "secret"}, map[string]any{"base_url": "https://crm.example.com/v2"})
	reply, err := pdktest.Document[abi.ProvideReply](abi.OpProvide, ask("a/1", abi.Message{Role: "user", Content: "hi"}))
	if err != nil || reply == nil || reply.State != nil {
		t.Fatalf("%+v, %v", reply, err)
	}
	if m := reply.Messages[0]; m.Name != "crm_snapshot" || m.Content != "The customer's account in the CRM, as of now:\n{\"plan\":\"gold\"}" {
		t.Errorf("message %+v", m)
	}
	want := pdk.HTTPRequest{Method: "GET", URL: "https://crm.example.com/v2/accounts/a%2F1",
		Header: map[string]string{"Accept": "application/json", "Authorization": "Bearer secret"}}
	if len(server.asked) != 1 || !reflect.DeepEqual(server.asked[0], want) {
		t.Errorf("asked %+v, want %+v", server.asked, want)
	}
}

func TestWithoutAccountNothingIsAsked(t *testing.T) {
	server := &crm{status: 200, body: `{}`}
	configure(t, server, nil, nil)
	if reply, err := pdktest.Document[abi.ProvideReply](abi.OpProvide, ask(nil)); reply != nil || err != nil || server.asked != nil {
		t.Errorf("%+v, %v, asked %v", reply, err, server.asked)
	}
}

func TestFailures(t *testing.T) {
	for want, c := range map[string]struct {
		server  crm
		account any
	}{
		"look up account: status 500 (want 200, or 404 for no such account)":       {crm{status: 500}, "a"},
		"look up account: http: GET https://crm.example.com/accounts/a: no answer": {crm{}, "a"},
		"data.account_id: a bool (want a string or an integer)":                    {crm{status: 200}, true},
	} {
		configure(t, &c.server, nil, nil)
		reply, err := pdktest.Document[abi.ProvideReply](abi.OpProvide, ask(c.account))
		if reply != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v, %v, want %s", reply, err, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	configure(t, &crm{}, nil, map[string]any{"estimated_tokens": 70})
	for _, c := range []struct {
		account any
		want    int
	}{{"a", 70}, {int64(7), 70}, {nil, 0}, {true, 0}} {
		reply, err := pdktest.Document[abi.EstimateReply](abi.OpEstimateTokens, ask(c.account))
		if err != nil || reply.Tokens != c.want {
			t.Errorf("%v: %+v, %v, want %d", c.account, reply, err, c.want)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	if err := pdktest.Init(map[string]any{"path": "/x"}); err == nil || !strings.HasPrefix(err.Error(), `settings: path "/x": not the path of a record`) {
		t.Error(err)
	}
}
