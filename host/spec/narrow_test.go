package spec

import (
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A plugin.yaml that widens what the module asks for is refused, in whatever field, and
// what it leaves out of the module's demands holds all the same.
func TestNarrow(t *testing.T) {
	const head = `{"abi":1,"name":"x","version":"1.0.0",`
	const ops = `"operations":{"retrieve":{}}`
	read := func(doc string) *manifest.Manifest {
		m, err := manifest.Parse([]byte(head + doc + "}"))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return m
	}
	http := func(rest string) string {
		return ops + `,"permissions":[{"kind":"http","reason":"r",` + rest + `}]`
	}
	for _, tc := range []struct{ own, side, err string }{
		{http(`"hosts":["a.test"]`), http(`"hosts":["a.test"],"methods":["GET","POST","DELETE"]`), `permission "http" is not the module's`},
		{http(`"hosts":["a.test"]`), http(`"hosts":["a.test"],"methods":["HEAD"]`), ""},
		{http(`"hosts":"from_grant"`), http(`"hosts":["a.test"]`), ""},
		{http(`"hosts":"from_grant"`), http(`"hosts":"from_grant"`), ""},
		{http(`"hosts":["a.test"]`), http(`"hosts":"from_grant"`), `permission "http" is not the module's`},
		{http(`"hosts":"from_grant"`), http(`"hosts":"from_grant","methods":["POST"]`), `permission "http" is not the module's`},
		{http(`"hosts":["a.test"],"methods":["POST"]`), http(`"hosts":["a.test"]`), `permission "http" is not the module's`},
		{http(`"hosts":["a.test"]`), http(`"hosts":["a.test:8443"]`), `permission "http" is not the module's`},
		{http(`"hosts":["a.test"]`), http(`"hosts":["http://a.test"]`), `permission "http" is not the module's`},
		{http(`"hosts":["a.test:*"]`), http(`"hosts":["a.test:8443","A.test."]`), ""},
		{http(`"hosts":["a.test:1"]`), http(`"hosts":["a.test:*"]`), `permission "http" is not the module's`},
		{http(`"hosts":["*.b.test"]`), http(`"hosts":["*.a.b.test","c.b.test"]`), ""},
		{http(`"hosts":["a.b.test"]`), http(`"hosts":["*.b.test"]`), `permission "http" is not the module's`},
		{ops + `,"limits":{"timeout":"1s"}`, ops + `,"limits":{"timeout":"2s"}`, `has limits.timeout 2s, the module 1s`},
		{ops + `,"limits":{"timeout":"1s"}`, ops + `,"limits":{"memory":"1MiB"}`, `has limits.memory 1MiB, the module none (state limits in the configuration of the plugin)`},
		{ops + `,"limits":{"output":"2MiB","init_timeout":"2s"}`, ops + `,"limits":{"output":"1MiB","init_timeout":"1s"}`, ""},
		{ops, ops + `,"settings":{"type":"object"}`, "has another schema of settings than the module (leave it out)"},
		{ops + `,"settings":{"type":"object","maxProperties":1}`, ops + `,"settings":{"type":"object"}`, "has another schema of settings than the module (leave it out)"},
		{ops + `,"settings":{"type":"object","maxProperties":1}`, ops + `,"settings":{"maxProperties":1.0,"type":"object"}`, ""},
		{`"operations":{"retrieve":{"settings":{"type":"object"}}}`, `"operations":{"retrieve":{"settings":{}}}`, `operation "retrieve" has another schema of settings than the module (leave it out)`},
		{`"operations":{"retrieve":{"defaults":{"top_k":3}}}`, `"operations":{"retrieve":{"defaults":{"top_k":4}}}`, `operation "retrieve" has defaults.top_k 4, the module 3`},
		{ops, `"operations":{"retrieve":{"defaults":{"top_k":1000}}}`, fmt.Sprintf(`operation "retrieve" has defaults.top_k 1000, the module %d`, pipeline.DefaultTopK)},
		{`"operations":{"retrieve":{"defaults":{"timeout":"1s"}}}`, `"operations":{"retrieve":{"defaults":{"timeout":"2s"}}}`, `operation "retrieve" has defaults.timeout 2s, the module 1s`},
		{ops, `"operations":{"retrieve":{"max_priority":3}}`, ""},
		{`"operations":{"provide":{}}`, `"operations":{"provide":{"reads":["data"]}}`, ""},
		{`"operations":{"provide":{"reads":["data"]}}`, `"operations":{"provide":{"reads":["data","messages","run_id"]}}`, `operation "provide" reads messages,run_id, which the module does not ask for`},
		{`"operations":{"provide":{"reads":["none"]}}`, `"operations":{"provide":{"reads":["data"]}}`, `operation "provide" reads data, which the module does not ask for`},
		{`"operations":{"provide":{"reads":["data"]}}`, `"operations":{"provide":{"reads":["none"]}}`, ""},
		{`"operations":{"filter":{"reads":["none"]}}`, `"operations":{"filter":{"reads":["query_text"]}}`, `operation "filter" reads query_text, which the module does not ask for`},
		{`"operations":{"filter":{"reads":["score","query_text"]}}`, `"operations":{"filter":{"reads":["score","chat_history"]}}`, `operation "filter" reads chat_history, which the module does not ask for`},
		{`"operations":{"provide":{}}`, `"operations":{"provide":{"reads":["messages","message_parts"]}}`, `operation "provide" reads message_parts, which the module does not ask for`},
		{`"operations":{"provide":{"reads":["messages","message_parts"]}}`, `"operations":{"provide":{"reads":["messages","message_parts"]}}`, ""},
		{`"operations":{"filter":{"writes":[]}}`, `"operations":{"filter":{}}`, `operation "filter" writes keep, which the module does not ask for`},
	} {
		err := narrow(read(tc.own), read(tc.side))
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || err.Error() != tc.err) {
			t.Errorf("%s\nbeside %s\nerror %v (want %s)", tc.side, tc.own, err, tc.err)
		}
	}
	for _, tc := range []struct{ own, side, op, want string }{
		{`"provide":{"reads":["data"]}`, `"provide":{}`, "provide", "data"},
		{`"provide":{"reads":["none"]}`, `"provide":{}`, "provide", "none"},
		{`"provide":{"reads":["none"]}`, `"provide":{"reads":[]}`, "provide", "none"},
		{`"provide":{"reads":[]}`, `"provide":{"reads":["none"]}`, "provide", "none"},
		{`"provide":{"reads":["data"]}`, `"provide":{"reads":[]}`, "provide", "data"},
		{`"provide":{"reads":["messages","message_parts"]}`, `"provide":{}`, "provide", "messages,message_parts"},
		{`"provide":{"reads":["data","messages"]}`, `"provide":{"reads":["data"]}`, "provide", "data"},
		{`"filter":{"reads":["score","query_text"]}`, `"filter":{"reads":["score"]}`, "filter", "query_text"},
	} {
		own, side := read(`"operations":{`+tc.own+`}`), read(`"operations":{`+tc.side+`}`)
		if err := narrow(own, side); err != nil {
			t.Fatal(err)
		}
		if got := side.Parts(abi.Operation(tc.op)); got.Whole() || got.String() != tc.want {
			t.Errorf("%s beside %s reads %q, whole %v (want %q)", tc.side, tc.own, got, got.Whole(), tc.want)
		}
	}
	test := `"self_test":[{"operation":"retrieve","input":{},"output":null}]`
	own := read(ops + `,"limits":{"timeout":"1s","memory":"1MiB","output":"1KiB","init_timeout":"3s"},"settings":{"type":"object"},` + test)
	side := read(ops)
	if err := narrow(own, side); err != nil || side.Limits != own.Limits || !sameJSON(own.Settings, side.Settings) || len(side.SelfTest) != 1 {
		t.Errorf("%+v, error %v", side, err)
	}
	if side = read(ops + `,` + test); narrow(own, side) != nil || len(side.SelfTest) != 1 {
		t.Errorf("self-tests %+v", side.SelfTest)
	}
}
