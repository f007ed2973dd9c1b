package trust

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	reference = "oci://ghcr.io/acme/bm25:1.2"
	digest    = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	other     = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

var plugin = Plugin{Name: "bm25", Version: "1.2.0", ABI: 1, Permissions: other, Source: "abc"}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func public(t testing.TB, name string) PublicKey {
	t.Helper()
	k, err := ParsePublicKey(string(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func generate(t testing.TB) *SecretKey {
	t.Helper()
	k, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signed(t testing.TB, k *SecretKey, about string) []byte {
	t.Helper()
	e, err := k.SignStatement("ghcr.io/acme/bm25", about, plugin)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func policy(keys ...PublicKey) *Policy {
	return &Policy{Require: RequireSigned, Publishers: map[string][]PublicKey{"ghcr.io/acme/*": keys}}
}

// wrapped signs a payload that no author would sign.
func wrapped(k *SecretKey, payloadType, payload string) []byte {
	e := envelope{PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString([]byte(payload))}
	e.Signatures = []signature{{KeyID: k.Public().ID, Sig: base64.StdEncoding.EncodeToString(k.sign(signedBytes(payloadType, []byte(payload))))}}
	out, _ := json.Marshal(e)
	return out
}

// edited changes the members of an envelope.
func edited(t *testing.T, data []byte, change func(*envelope)) []byte {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	change(&e)
	out, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The signatures are those of minisign 0.11, the keys too.
func TestFilesOfMinisign(t *testing.T) {
	key, module := public(t, "plain.pub"), read(t, "module.wasm")
	if key.ID != "C752394A98B8BDD0" || string(key.File()) != string(read(t, "plain.pub")) {
		t.Errorf("%s\n%s", key.ID, key.File())
	}
	for _, name := range []string{"hashed.minisig", "legacy.minisig"} {
		s, err := VerifyFile([]PublicKey{key}, module, read(t, name))
		if err != nil || s.Key != key.ID || s.Form != FormMinisign || s.Comment != "a comment" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	secret, err := ParseSecretKey(read(t, "plain.key"), "")
	if err != nil || secret.Public().String() != key.String() {
		t.Fatal(secret, err)
	}
	sig, err := secret.SignFile(module, "module.wasm", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	s, err := VerifyFile([]PublicKey{public(t, "locked.pub"), key}, module, sig)
	if err != nil || s.Comment != "timestamp:1\tfile:module.wasm\thashed" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := secret.SignFile(module, "a\nb", time.Unix(1, 0)); err == nil {
		t.Error("a name with a line break")
	}
}

func TestEncryptedKey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds and 1 GiB of memory")
	}
	text := read(t, "locked.key")
	if !Encrypted(text) || Encrypted(read(t, "plain.key")) {
		t.Error("what is encrypted")
	}
	k, err := ParseSecretKey(text, "secret")
	if err != nil || k.Public().String() != public(t, "locked.pub").String() {
		t.Fatal(k, err)
	}
}

// A key that says that it was encrypted with little work is decrypted fast.
func TestWrongPassword(t *testing.T) {
	_, line, _ := strings.Cut(string(read(t, "locked.key")), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 { // the two numbers that say how much work and memory
		raw[38+i] = 0
	}
	if _, err := ParseSecretKey([]byte(base64.StdEncoding.EncodeToString(raw)), "secret"); !errors.Is(err, ErrPassword) {
		t.Error(err)
	}
	raw[53] = 0xff // 16 EiB of memory
	if _, err := ParseSecretKey([]byte(base64.StdEncoding.EncodeToString(raw)), "secret"); !errors.Is(err, ErrPassword) {
		t.Error(err)
	}
}

func TestWrongSignaturesOfFiles(t *testing.T) {
	key, module, sig := public(t, "plain.pub"), read(t, "module.wasm"), string(read(t, "hashed.minisig"))
	lines := strings.SplitAfter(sig, "\n")
	with := func(i int, line string) string {
		l := append([]string{}, lines...)
		l[i] = line
		return strings.Join(l, "")
	}
	legacy := strings.SplitAfter(string(read(t, "legacy.minisig")), "\n")
	for _, c := range []struct {
		name, signature string
		module          []byte
		key             PublicKey
		want            error
	}{
		{"another module", sig, append([]byte("x"), module...), key, ErrSignature},
		{"no module", sig, nil, key, ErrSignature},
		{"another key", sig, module, public(t, "locked.pub"), ErrKey},
		{"no key", sig, module, PublicKey{}, ErrKey},
		{"a key in PEM", sig, module, public(t, "ed25519.pub"), ErrKey},
		{"another comment", strings.Replace(sig, "a comment", "b comment", 1), module, key, ErrSignature},
		{"the comment of another signature", with(3, legacy[3]), module, key, ErrSignature},
		{"hashed said to be not", with(1, "RW"+lines[1][2:]), module, key, ErrFormat},
		{"a control character in the comment", strings.Replace(sig, "a comment", "a\x1b[2Jcomment", 1), module, key, ErrFormat},
		{"not base64", with(1, "?\n"), module, key, ErrFormat},
		{"short", with(1, lines[1][:40]+"\n"), module, key, ErrFormat},
		{"three lines", strings.Join(lines[:3], ""), module, key, ErrFormat},
		{"cut", sig[:len(sig)-9], module, key, ErrFormat},
		{"more lines", sig + "x\n", module, key, ErrFormat},
		{"empty", "", module, key, ErrFormat},
		{"huge", sig + strings.Repeat(" ", 1<<20), module, key, ErrFormat},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := VerifyFile([]PublicKey{c.key}, c.module, []byte(c.signature))
			if c.name == "hashed said to be not" { // the algorithm "Ed" instead of "ED"
				raw, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(lines[1]))
				raw[1] = 'd'
				s, err = VerifyFile([]PublicKey{c.key}, c.module, []byte(with(1, base64.StdEncoding.EncodeToString(raw)+"\n")))
				c.want = ErrSignature
			}
			if !errors.Is(err, c.want) || s != (Signer{}) {
				t.Errorf("%+v, %v, want %v", s, err, c.want)
			}
		})
	}
}

// The example of the specification of DSSE.
func TestSignedBytes(t *testing.T) {
	if got := string(signedBytes("http://example.com/HelloWorld", []byte("hello world"))); got != "DSSEv1 29 http://example.com/HelloWorld 11 hello world" {
		t.Error(got)
	}
}

func TestStatement(t *testing.T) {
	secret, err := ParseSecretKey(read(t, "plain.key"), "")
	if err != nil {
		t.Fatal(err)
	}
	e := signed(t, secret, digest)
	golden := filepath.Join("testdata", "envelope.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, e, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, "envelope.json"); !bytes.Equal(e, want) {
		t.Errorf("%s, want %s", e, want)
	}
	s, err := policy(secret.Public()).Verify(reference, digest, Signatures{Envelopes: [][]byte{e}})
	if err != nil || s.Key != secret.Public().ID || s.Publisher != "ghcr.io/acme/*" || s.Form != FormDSSE || *s.Plugin != plugin {
		t.Errorf("%+v, %v", s, err)
	}
	if err := s.Check(plugin); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Plugin){
		func(p *Plugin) { p.Name = "x" }, func(p *Plugin) { p.Version = "1.2.1" }, func(p *Plugin) { p.ABI = 2 }, func(p *Plugin) { p.Permissions = digest },
	} {
		is := plugin
		change(&is)
		if err := s.Check(is); !errors.Is(err, ErrSubject) {
			t.Errorf("%+v: %v", is, err)
		}
	}
}

// The signatures were made with openssl, in the forms of cosign.
func TestCosign(t *testing.T) {
	simple := func(sig string) Signatures {
		return Signatures{Simple: []SimpleSignature{{read(t, "simple.json"), string(read(t, sig))}}}
	}
	bundle := Signatures{Envelopes: [][]byte{read(t, "bundle.json")}}
	ec, ed := public(t, "cosign.pub"), public(t, "ed25519.pub")
	for name, c := range map[string]struct {
		key PublicKey
		s   Signatures
	}{"old": {ec, simple("simple.sig")}, "Ed25519": {ed, simple("simple-ed25519.sig")}, "bundle": {ec, bundle}} {
		s, err := policy(public(t, "plain.pub"), c.key).Verify(reference, digest, c.s)
		if err != nil || s.Key != c.key.ID || s.Form != FormCosign || s.Check(plugin) != nil {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if _, err := policy(c.key).Verify(reference, other, c.s); !errors.Is(err, ErrSubject) {
			t.Errorf("%s, another digest: %v", name, err)
		}
		if _, err := policy(public(t, "plain.pub")).Verify(reference, digest, c.s); !errors.Is(err, ErrKey) {
			t.Errorf("%s, another key: %v", name, err)
		}
	}
	swapped := simple("simple.sig")
	swapped.Simple[0].Payload = bytes.Replace(swapped.Simple[0].Payload, []byte("acme"), []byte("evil"), 1)
	if _, err := policy(ec).Verify(reference, digest, swapped); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
	if _, err := ParsePublicKey(string(read(t, "rsa.pub"))); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

func TestWrongEnvelopes(t *testing.T) {
	acme, evil, old := generate(t), generate(t), generate(t)
	good := signed(t, acme, digest)
	statementOf := func(predicateType, predicate string, subjects ...string) string {
		var list []string
		for _, s := range subjects {
			list = append(list, `{"digest":{"sha256":"`+strings.TrimPrefix(s, "sha256:")+`"}}`)
		}
		return `{"_type":"https://in-toto.io/Statement/v1","subject":[` + strings.Join(list, ",") + `],"predicateType":"` + predicateType + `","predicate":` + predicate + `}`
	}
	for _, c := range []struct {
		name      string
		envelopes [][]byte
		want      error
		says      string
	}{
		{"none", nil, ErrUnsigned, "trust.require is signed"},
		{"another key", [][]byte{signed(t, evil, digest)}, ErrKey, `does not list it for "ghcr.io/acme/*"`},
		{"another key that takes the id", [][]byte{edited(t, signed(t, evil, digest), func(e *envelope) { e.Signatures[0].KeyID = acme.Public().ID })}, ErrSignature, "was changed"},
		{"another subject", [][]byte{signed(t, acme, other)}, ErrSubject, other},
		{"another payload", [][]byte{edited(t, good, func(e *envelope) {
			e.Payload = base64.StdEncoding.EncodeToString([]byte(statementOf(PredicateType, `{"name":"x"}`, digest)))
		})}, ErrSignature, ""},
		{"the payload of another's envelope", [][]byte{edited(t, good, func(e *envelope) {
			_ = json.Unmarshal(signed(t, evil, digest), &struct{ Payload *string }{&e.Payload})
			e.PayloadType = "application/json"
		})}, ErrFormat, "payloadType"},
		{"signed as another type", [][]byte{edited(t, wrapped(acme, "text/plain", statementOf(PredicateType, "{}", digest)), func(e *envelope) { e.PayloadType = PayloadType })}, ErrSignature, ""},
		{"revoked key", [][]byte{signed(t, old, digest)}, ErrRevoked, "trust.revoked.keys"},
		{"all wrong ones", [][]byte{signed(t, evil, digest), []byte("{"), signed(t, old, digest), signed(t, acme, other)}, ErrRevoked, ""},
		{"provenance of the same key", [][]byte{wrapped(acme, PayloadType, statementOf("https://slsa.dev/provenance/v1", "{}", digest))}, ErrFormat, "predicateType"},
		{"another kind of statement", [][]byte{wrapped(acme, PayloadType, strings.Replace(statementOf(PredicateType, "{}", digest), "Statement/v1", "Statement/v2", 1))}, ErrFormat, "_type"},
		{"two subjects", [][]byte{wrapped(acme, PayloadType, statementOf(PredicateType, "{}", other, digest))}, ErrFormat, "one subject"},
		{"no subject", [][]byte{wrapped(acme, PayloadType, statementOf(cosignPredicate, "{}"))}, ErrSubject, "about nothing"},
		{"no predicate", [][]byte{wrapped(acme, PayloadType, statementOf(PredicateType, "null", digest))}, ErrFormat, "predicate"},
		{"a predicate of another type", [][]byte{wrapped(acme, PayloadType, statementOf(PredicateType, "[]", digest))}, ErrFormat, ""},
		{"a member twice", [][]byte{wrapped(acme, PayloadType, strings.Replace(statementOf(PredicateType, "{}", digest), "{", `{"_type":"x",`, 1))}, ErrFormat, "duplicate"},
		{"a payload that is no JSON", [][]byte{wrapped(acme, PayloadType, "\x00")}, ErrFormat, ""},
		{"no signatures", [][]byte{edited(t, good, func(e *envelope) { e.Signatures = nil })}, ErrFormat, "no signatures"},
		{"many signatures", [][]byte{edited(t, good, func(e *envelope) { e.Signatures = make([]signature, 17) })}, ErrFormat, "17 signatures"},
		{"a signature that is cut", [][]byte{edited(t, good, func(e *envelope) { e.Signatures[0].Sig = e.Signatures[0].Sig[:40] })}, ErrSignature, ""},
		{"a signature that is not base64", [][]byte{edited(t, good, func(e *envelope) { e.Signatures[0].Sig = "?" })}, ErrFormat, ""},
		{"a payload that is not base64", [][]byte{edited(t, good, func(e *envelope) { e.Payload = "?" })}, ErrFormat, ""},
		{"cut", [][]byte{good[:len(good)/2]}, ErrFormat, ""},
		{"huge", [][]byte{append(bytes.Repeat([]byte(" "), maxEnvelope), good...)}, ErrFormat, "longer"},
		{"deep", [][]byte{bytes.Repeat([]byte("["), 100_000)}, ErrFormat, ""},
		{"an id with control characters", [][]byte{edited(t, good, func(e *envelope) { e.Signatures[0].KeyID = "\x1b[2J\nok" })}, ErrKey, ""},
		{"a bundle of a file", [][]byte{[]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","messageSignature":{}}`)}, ErrFormat, "no envelope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := policy(acme.Public(), old.Public())
			p.RevokedKeys = []string{old.Public().ID}
			s, err := p.Verify(reference, digest, Signatures{Envelopes: c.envelopes})
			if !errors.Is(err, c.want) || s != (Signer{}) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%+v, %v, want %v and %q", s, err, c.want, c.says)
			}
			if strings.ContainsAny(err.Error(), "\x1b\n\x00") || len(err.Error()) > 1000 || !strings.HasPrefix(err.Error(), `"oci://ghcr.io/acme/bm25:1.2": `) {
				t.Errorf("the message: %q", err)
			}
			// What others attach does not keep a good signature from counting.
			s, err = p.Verify(reference, digest, Signatures{Envelopes: append(c.envelopes, good)})
			if err != nil || s.Key != acme.Public().ID {
				t.Errorf("with a good one: %+v, %v", s, err)
			}
			// A policy that needs no signature learns of none, but for those of revoked keys.
			p.Require = RequireDigest
			s, err = p.Verify(reference, digest, Signatures{Envelopes: c.envelopes})
			if revoked := errors.Is(c.want, ErrRevoked); (err != nil) != revoked || errors.Is(err, ErrRevoked) != revoked || s != (Signer{}) {
				t.Errorf("not required: %+v, %v", s, err)
			}
		})
	}
}

// What a revoked key signed does not run, whatever the policy requires. Without the key, nothing
// shows that a signature is its: the id in an envelope is what anybody may write there.
func TestRevokedKey(t *testing.T) {
	acme, evil, old := generate(t), generate(t), generate(t)
	by := func(list ...[]byte) Signatures { return Signatures{Envelopes: list} }
	claims := edited(t, signed(t, evil, digest), func(e *envelope) { e.Signatures[0].KeyID = old.Public().ID })
	payload := []byte(`{"critical":{"image":{"docker-manifest-digest":"` + digest + `"},"type":"` + simpleType + `"}}`)
	simple := SimpleSignature{Payload: payload, Signature: base64.StdEncoding.EncodeToString(old.sign(payload))}
	both, rotated := []PublicKey{acme.Public(), old.Public()}, []PublicKey{acme.Public()}
	for _, c := range []struct {
		name    string
		keys    []PublicKey
		s       Signatures
		without error // if none or digest is required
		signed  error
		key     string
	}{
		{"an envelope", both, by(signed(t, old, digest)), ErrRevoked, ErrRevoked, ""},
		{"the form of cosign", both, Signatures{Simple: []SimpleSignature{simple}}, ErrRevoked, ErrRevoked, ""},
		{"beside one by an unknown key", both, by(signed(t, evil, digest), signed(t, old, digest)), ErrRevoked, ErrRevoked, ""},
		{"beside one that counts", both, by(signed(t, old, digest), signed(t, acme, digest)), nil, nil, acme.Public().ID},
		{"about another artifact", both, by(signed(t, old, other)), nil, ErrSubject, ""},
		{"only its id", both, by(claims), nil, ErrSignature, ""},
		{"a key that is not listed any more", rotated, by(signed(t, old, digest)), nil, ErrKey, ""},
		{"no publisher", nil, by(signed(t, old, digest)), nil, ErrKey, ""},
	} {
		for _, require := range []Require{"", RequireNone, RequireDigest, RequireSigned} {
			want := c.without
			if require == RequireSigned {
				want = c.signed
			}
			p := policy(c.keys...)
			p.Require, p.RevokedKeys = require, []string{old.Public().ID}
			if c.keys == nil {
				p.Publishers = nil
			}
			if s, err := p.Verify(reference, digest, c.s); !errors.Is(err, want) || s.Key != c.key {
				t.Errorf("%s, require %q: %+v, %v, want %v", c.name, require, s, err, want)
			}
		}
	}
}

// Two signatures in one envelope: one by a key that the policy lists is enough.
func TestTwoSignatures(t *testing.T) {
	a, b := generate(t), generate(t)
	for _, first := range []bool{true, false} {
		e := edited(t, signed(t, a, digest), func(e *envelope) {
			wrong := signature{KeyID: b.Public().ID, Sig: base64.StdEncoding.EncodeToString(b.sign([]byte("x")))}
			e.Signatures = append(e.Signatures, wrong)
			if !first {
				e.Signatures[0], e.Signatures[1] = e.Signatures[1], e.Signatures[0]
			}
		})
		if s, err := policy(b.Public(), a.Public()).Verify(reference, digest, Signatures{Envelopes: [][]byte{e}}); err != nil || s.Key != a.Public().ID {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := policy(b.Public()).Verify(reference, digest, Signatures{Envelopes: [][]byte{e}}); !errors.Is(err, ErrSignature) {
			t.Error(err)
		}
	}
	nameless := edited(t, signed(t, a, digest), func(e *envelope) { e.Signatures[0].KeyID = "" })
	if s, err := policy(b.Public(), a.Public()).Verify(reference, digest, Signatures{Envelopes: [][]byte{nameless}}); err != nil || s.Key != a.Public().ID {
		t.Errorf("without an id: %+v, %v", s, err)
	}
}

// The work for what others attach is bounded.
func TestManyAttached(t *testing.T) {
	var keys []PublicKey
	for range 50 {
		keys = append(keys, generate(t).Public())
	}
	junk := SimpleSignature{Payload: []byte("x"), Signature: base64.StdEncoding.EncodeToString(make([]byte, 64))}
	s := Signatures{Simple: make([]SimpleSignature, 1000)}
	for i := range s.Simple {
		s.Simple[i] = junk
	}
	v := &verifier{policy: policy(keys...), reference: reference, digest: digest, keys: keys}
	if _, ok := v.any(s); ok || v.checks > maxChecks+len(s.Simple) || !errors.Is(v.err, ErrKey) {
		t.Errorf("%d, %v", v.checks, v.err)
	}
}

func TestPolicy(t *testing.T) {
	team, repo, host := generate(t).Public(), generate(t).Public(), generate(t).Public()
	p := &Policy{Publishers: map[string][]PublicKey{"ghcr.io/acme/*": {team}, "ghcr.io/acme/bm25": {repo}, "ghcr.io/*": {host}, "ghcr.io/acme/x/*": {team}}}
	for ref, want := range map[string]string{
		"oci://ghcr.io/acme/bm25:1.2": "ghcr.io/acme/bm25", "GHCR.io/acme/bm25@" + digest: "ghcr.io/acme/bm25", "ghcr.io/acme/bm25x": "ghcr.io/acme/*",
		"ghcr.io/acme/x/y": "ghcr.io/acme/x/*", "ghcr.io/acmex/bm25": "ghcr.io/*", "ghcr.io/acme": "ghcr.io/*", "evil.io/ghcr.io/acme/x": "",
		"ghcr.io.evil.io/acme/x": "", "ghcr.io:5000/acme/x": "", "ghcr.io/acme/../evil/x": "", "ghcr.io/acme//x": "", "ghcr.io/ACME/x": "", "": "",
	} {
		if got, _ := p.Publisher(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
	for pattern, good := range map[string]bool{
		"ghcr.io/acme/*": true, "ghcr.io/acme/bm25": true, "localhost:5000/*": true, "ghcr.io/*": true,
		"*": false, "": false, "/*": false, "ghcr.io": false, "ghcr.io/acme*": false, "ghcr.io/*/bm25": false, "oci://ghcr.io/acme/*": false, "ghcr.io/acme/bm25:1": false, "a/../b": false,
	} {
		if err := CheckPattern(pattern); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestCheckLocked(t *testing.T) {
	a, b := generate(t).Public(), generate(t).Public()
	p := policy(a, b)
	p.RevokedKeys, p.RevokedDigests = []string{b.ID}, []string{other}
	for _, c := range []struct {
		name, signer, module string
		want                 error
	}{
		{"good", a.ID, digest, nil},
		{"not signed", "", digest, ErrUnsigned},
		{"another key", "0000000000000000", digest, ErrKey},
		{"revoked key", b.ID, digest, ErrRevoked},
		{"revoked digest", a.ID, other, ErrRevoked},
	} {
		if err := p.CheckLocked(reference, c.signer, digest, c.module); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	p.Require = ""
	if err := p.CheckLocked(reference, "", digest, ""); err != nil {
		t.Error(err)
	}
	if err := p.CheckLocked(reference, b.ID, digest, ""); !errors.Is(err, ErrRevoked) {
		t.Error(err)
	}
	if _, err := p.Verify(reference, other, Signatures{}); !errors.Is(err, ErrRevoked) {
		t.Error(err)
	}
	if _, err := p.Verify(reference, "sha256:1", Signatures{}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	dir, k := t.TempDir(), generate(t)
	secret, pub := filepath.Join(dir, "s.key"), filepath.Join(dir, "s.pub")
	if err := WriteKeys(k, "", secret, pub); err != nil {
		t.Fatal(err)
	}
	if err := WriteKeys(k, "", secret, pub); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := WriteKeys(k, "", secret, filepath.Join(dir, "new.pub")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.pub")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a public key without its secret half stays")
	}
	text, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseSecretKey(text, ""); err != nil || back.Public().String() != k.Public().String() {
		t.Error(back, err)
	}
	// A key whose halves do not belong together would reveal itself by its signatures.
	raw, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.SplitN(string(text), "\n", 2)[1]))
	raw[100] ^= 1
	if _, err := ParseSecretKey([]byte(base64.StdEncoding.EncodeToString(raw)), ""); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "half") {
		t.Error(err)
	}
	for _, bad := range []string{"", "x", "untrusted comment: x\n", k.Public().String()[1:], k.Public().String() + "AAAA", strings.Repeat("A", 56), strings.Repeat("A", 10000),
		k.Public().String()[:20] + "\n" + k.Public().String()[20:], "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if got, err := ParsePublicKey(bad); !errors.Is(err, ErrFormat) || got.ID != "" {
			t.Errorf("%.60q: %+v, %v", bad, got, err)
		}
		if _, err := ParseSecretKey([]byte(bad), ""); !errors.Is(err, ErrFormat) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
	for id, want := range map[string]string{"c752394a98b8bdd0": "C752394A98B8BDD0", "1F": "000000000000001F", strings.ToUpper(other): "", other: other, "": "", "x": ""} {
		if got, err := ParseKeyID(id); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", id, got, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key, err := ParseSecretKey(read(f, "plain.key"), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed(f, key, other))
	f.Add(read(f, "bundle.json"))
	f.Add(wrapped(key, PayloadType, "[]"))
	p := policy(key.Public(), public(f, "cosign.pub"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := p.Verify(reference, digest, Signatures{Envelopes: [][]byte{data}, Simple: []SimpleSignature{{data, "AAAA"}}})
		if err == nil && s.Form != FormCosign { // the bundle in the seeds
			t.Errorf("accepted: %+v", s)
		}
	})
}

func FuzzVerifyFile(f *testing.F) {
	key, module := public(f, "plain.pub"), read(f, "module.wasm")
	f.Add(read(f, "hashed.minisig"))
	f.Add(read(f, "legacy.minisig"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := VerifyFile([]PublicKey{key}, module, data); err == nil && s.Comment != "a comment" {
			t.Errorf("accepted: %+v", s)
		}
		if _, err := VerifyFile([]PublicKey{key}, module[1:], data); err == nil {
			t.Error("accepted for another module")
		}
	})
}

func FuzzKeys(f *testing.F) {
	for _, name := range []string{"plain.pub", "cosign.pub", "ed25519.pub", "rsa.pub", "plain.key"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := ParsePublicKey(string(data)); err == nil {
			if _, err := ParseKeyID(k.ID); err != nil {
				t.Error(err)
			}
		}
		if !Encrypted(data) { // decrypting takes seconds
			if k, err := ParseSecretKey(data, ""); err == nil && !k.Public().accepts([]byte("x"), k.sign([]byte("x"))) {
				t.Error("a key that does not accept its own signatures")
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	k := generate(b)
	p, s := policy(k.Public()), Signatures{Envelopes: [][]byte{signed(b, k, digest)}}
	for b.Loop() {
		if _, err := p.Verify(reference, digest, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyFile(b *testing.B) {
	k, data := generate(b), make([]byte, 4<<20)
	sig, err := k.SignFile(data, "x.wasm", time.Unix(1, 0))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := VerifyFile([]PublicKey{k.Public()}, data, sig); err != nil {
			b.Fatal(err)
		}
	}
}
