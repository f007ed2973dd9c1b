package config

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry/trust"
)

func TestTrust(t *testing.T) {
	const key, digest = "RWTQvbiYSjlSx5/NiiLOOdSGBvR7nRjcqTm8tiOtKmpDMT2SL00qITZ3", "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	l, err := Parse("f", []byte("trust:\n  require: signed\n  publishers:\n    ghcr.io/acme/*: ["+key+"]\n    ghcr.io/acme/closed: []\n  revoked: {keys: [1f], digests: ['"+digest+"']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := l.Trust.Policy()
	if pattern, keys := p.Publisher("ghcr.io/acme/bm25"); pattern != "ghcr.io/acme/*" || len(keys) != 1 || keys[0].ID != "C752394A98B8BDD0" {
		t.Errorf("%s %v", pattern, keys)
	}
	if pattern, keys := p.Publisher("ghcr.io/acme/closed"); pattern != "ghcr.io/acme/closed" || len(keys) != 0 {
		t.Errorf("%s %v", pattern, keys)
	}
	if p.Require != trust.RequireSigned || p.RevokedKeys[0] != "000000000000001F" || p.RevokedDigests[0] != digest {
		t.Errorf("%+v", p)
	}
	_, err = Parse("f", []byte("trust:\n  require: signd\n"))
	if err == nil || !strings.Contains(err.Error(), `f:2:12: trust.require: unknown value "signd" (did you mean "signed"?)`) {
		t.Error(err)
	}
	_, err = Parse("f", []byte("trust:\n  revoked: [1f]\n"))
	if err == nil || !strings.Contains(err.Error(), "f:2:12: trust.revoked: want a map, got a list (want keys, digests below it)") {
		t.Error(err)
	}
	_, err = Parse("f", []byte("trust:\n  publishers:\n    ghcr.io: [x]\n    ghcr.io/a/*: ["+key+", "+key+"]\n  revoked: {keys: [key], digests: [sha256:0]}\n"))
	for _, want := range []string{
		"f:3:14: trust.publishers.ghcr.io: pattern of references: ", "trust.publishers.ghcr.io[0]: public key: read: not readable (want 56 characters",
		"the key C752394A98B8BDD0 is also at [0] (keep one)", "f:5:20: trust.revoked.keys[0]: ", "f:5:36: trust.revoked.digests[0]: ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}
