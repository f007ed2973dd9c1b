package record

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func plugin(to func(Call), secrets ...string) *Plugin {
	return &Plugin{Name: "p", Secrets: secrets, Settings: func(abi.Operation, []byte) []string { return nil }, To: to}
}

// A secret is in no part of a call, in whatever form a plugin sends it.
func TestNoSecretIsHandedOver(t *testing.T) {
	const secret = `s3cr3t"<&>/+ ü-token`
	inJSON := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), inJSON(secret), hex.EncodeToString([]byte(secret))}
	for _, before := range []string{"", "u", "u:", "usr", "user:"} {
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(before+secret+"!")), base64.URLEncoding.EncodeToString([]byte(before+secret)))
	}
	for _, form := range forms {
		var got Call
		p := plugin(func(c Call) { got = c }, secret)
		p.Config = map[string]string{"key": form}
		c := p.Begin(nil)
		c.Ask([]byte(`{"a":"` + form + `"}`))
		c.Sent(HTTP{URL: "https://a.test/?q=" + form, Headers: map[string]string{"X-" + form: "Bearer " + form}, Body: []byte(form), ResponseBody: []byte(form)}, []byte(`{"x":"`+inJSON(form)+`"}`))
		c.Stored("k"+form, []byte(form), true)
		c.Counted(form, 1)
		c.Logged("info", form)
		c.Reply(false, []byte(form))
		p.End(c, abi.OpFilter, "", &Failure{Call: Call{Err: "failed at " + form}})
		all := fmt.Sprintf("%s %s %s %s %+v", got.Request, got.Answer, got.Config, got.Err, got.HTTP) + fmt.Sprintf("%s %s %+v %s", got.HTTP[0].Body, got.HTTP[0].ResponseBody, got.Counts, got.Log) +
			got.KV[0].Key + string(got.KV[0].Value)
		core := form
		if len(form) > 12 { // in base64 the characters beside the secret may stay
			core = form[6 : len(form)-6]
		}
		if strings.Contains(all, core) {
			t.Errorf("%q is in %s", form, all)
		}
	}
}

// Values are secrets by the name of their header or parameter, even if nobody said so.
func TestSecretsByPlace(t *testing.T) {
	var got Call
	p := plugin(func(c Call) { got = c })
	p.Config = map[string]string{"a": "alpha-key", "b": "beta-key", "c": "harmless"}
	c := p.Begin(nil)
	c.Sent(HTTP{URL: "https://a.test/?api_key=beta-key&q=harmless", Headers: map[string]string{"authorization": "Bearer alpha-key"}}, []byte(`{"set-cookie":"session-1"}`))
	p.End(c, abi.OpRetrieve, "", nil)
	if text := fmt.Sprint(got); strings.Contains(text, "alpha") || strings.Contains(text, "beta") || strings.Contains(text, "session") || got.Config["c"] != "harmless" {
		t.Error(text)
	}
}

// What a call collects is bounded, and what is beyond the bound is counted.
func TestCallsAreBounded(t *testing.T) {
	var got Call
	p := plugin(func(c Call) { got = c })
	c := p.Begin(nil)
	body := make([]byte, 1<<20)
	for range 100 {
		c.Sent(HTTP{URL: "u", ResponseBody: body}, nil)
	}
	for range 1 << 20 {
		c.Stored("", nil, false)
	}
	p.End(c, abi.OpRetrieve, "", nil)
	if n := len(got.HTTP); n != 7 || got.LeftOut < 93<<20 || len(got.KV) > MaxBytes/overhead {
		t.Errorf("%d requests, %d uses of the store, left out %d", n, len(got.KV), got.LeftOut)
	}
}

// Calls at the same time share what init did, and nothing else.
func TestCallsAreApart(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	p := plugin(func(c Call) {
		mu.Lock()
		defer mu.Unlock()
		if len(c.KV) != 2 || c.KV[0].Key != "init" {
			t.Errorf("%+v", c.KV)
		}
		seen[c.KV[1].Key] = true
	})
	i := p.Begin(nil)
	i.Stored("init", nil, false)
	p.EndInit(i)
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			c := p.Begin(nil)
			c.Stored(fmt.Sprint(n), nil, false)
			p.End(c, abi.OpFilter, "", nil)
		})
	}
	all.Wait()
	if len(seen) != 50 {
		t.Errorf("%d calls", len(seen))
	}
}

// Without a recorder nothing is allocated.
func TestNothingIsCollectedUnasked(t *testing.T) {
	var p *Plugin
	body := []byte("body")
	if n := testing.AllocsPerRun(100, func() {
		c := p.Begin(nil)
		c.Ask(body)
		c.Stored("k", body, true)
		c.Logged("info", "line")
		c.Reply(false, body)
		p.EndInit(c)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	var p *Plugin
	body := []byte("body")
	for b.Loop() {
		c := p.Begin(nil)
		c.Ask(body)
		c.Reply(false, body)
	}
}
