package registrytest

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// signers are two authors with keys, and an operator who trusts the first.
type signers struct {
	s                server
	author, operator *team
	keys             map[string]*trust.SecretKey
	client           *registry.Client
}

func newSigners(t *testing.T) *signers {
	s := inProcess(t, true)
	x := &signers{s: s, author: newTeam(t, s), operator: newTeam(t, s), keys: map[string]*trust.SecretKey{}, client: s.client(t, registry.Options{})}
	for _, name := range []string{"acme", "older", "evil"} {
		key, err := trust.Generate()
		if err != nil {
			t.Fatal(err)
		}
		x.keys[name] = key
	}
	return x
}

// push pushes a version without a signature, and returns its reference with the digest.
func (x *signers) push(t *testing.T, repository, version string) registry.Reference {
	t.Helper()
	ref, err := x.client.Push(t.Context(), x.s.ref(repository, version), artifact(t, version, 0), registry.PushOptions{Move: true})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// statement signs what is true of the version, but for changes.
func (x *signers) statement(t *testing.T, key, repository, digest string, p trust.Plugin) []byte {
	t.Helper()
	envelope, err := x.keys[key].SignStatement(x.s.host+"/"+repository, digest, p)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

func (x *signers) attach(t *testing.T, ref registry.Reference, envelope []byte) {
	t.Helper()
	if _, err := x.client.Attach(t.Context(), ref, registry.Attachment{Type: registry.TypeSignature, Data: envelope}); err != nil {
		t.Fatal(err)
	}
}

// trusts writes the configuration of the operator.
func (x *signers) trusts(keys []string, revoked, tag string) {
	x.operator.write("anchor.yaml", fmt.Sprintf("trust:\n  require: signed\n  publishers: {\"%s/acme/*\": [%s]}\n%ssteps: [{name: keep, use: 'oci://%s/acme/keep-first:%s'}]%s",
		x.s.host, strings.Join(keys, ", "), revoked, x.s.host, tag, turn))
}

func is(version string) trust.Plugin {
	return trust.Plugin{Name: "keep-first", Version: version, ABI: 1, Permissions: lock.Hash(nil)}
}

// TestSignatures installs version 2.0.0 with signatures that do not count. Version 1.0.0, which is
// signed, stays and runs.
func TestSignatures(t *testing.T) {
	const repository = "acme/keep-first"
	changed := func(f func(*trust.Plugin)) trust.Plugin { p := is("2.0.0"); f(&p); return p }
	for _, each := range []struct {
		name, want string
		sign       func(t *testing.T, x *signers, old, ref registry.Reference) []byte
		// trusts are the names of the keys that the operator trusts; "" is acme.
		trusts, revoked string
		// code is the exit code if it is not 5, final says that no other signature helps.
		code  int
		final bool
	}{
		{name: "none", want: "not signed"},
		{name: "by another key", want: "add it there if you trust its owner", sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "evil", repository, ref.Digest, is("2.0.0"))
		}},
		{name: "of the version before", want: "it is about", sign: func(t *testing.T, x *signers, old, _ registry.Reference) []byte {
			return x.statement(t, "acme", repository, old.Digest, is("1.0.0"))
		}},
		{name: "changed", want: "it or what it signs was changed", sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			e := x.statement(t, "acme", repository, ref.Digest, is("2.0.0"))
			var parts map[string]any
			if err := json.Unmarshal(e, &parts); err != nil {
				t.Fatal(err)
			}
			parts["payload"] = base64.StdEncoding.EncodeToString([]byte(`{"_type":"https://in-toto.io/Statement/v1"}`))
			e, _ = json.Marshal(parts)
			return e
		}},
		{name: "of another name", final: true, want: `its name is "keep-last", that of the module is "keep-first"`, sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "acme", repository, ref.Digest, changed(func(p *trust.Plugin) { p.Name = "keep-last" }))
		}},
		{name: "of another version", final: true, want: `its version is "3.0.0"`, sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "acme", repository, ref.Digest, changed(func(p *trust.Plugin) { p.Version = "3.0.0" }))
		}},
		{name: "of other permissions", final: true, want: "its permissions is", sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "acme", repository, ref.Digest, changed(func(p *trust.Plugin) { p.Permissions = lock.Hash([]string{"http GET https://evil.example:443"}) }))
		}},
		{name: "no envelope", code: 3, want: "envelope: read", sign: func(*testing.T, *signers, registry.Reference, registry.Reference) []byte { return []byte("<html>") }},
		{name: "by a revoked key", final: true, want: "by trust.revoked.keys", trusts: "acme older", revoked: "older", sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "older", repository, ref.Digest, is("2.0.0"))
		}},
		{name: "of a revoked artifact", final: true, want: "by trust.revoked.digests", revoked: "digest", sign: func(t *testing.T, x *signers, _, ref registry.Reference) []byte {
			return x.statement(t, "acme", repository, ref.Digest, is("2.0.0"))
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			x := newSigners(t)
			acme := []string{x.keys["acme"].Public().String()}
			old := x.push(t, repository, "1.0.0")
			x.attach(t, old, x.statement(t, "acme", repository, old.Digest, is("1.0.0")))
			x.trusts(acme, "", "1.0.0")
			x.operator.ok("plugin", "install")
			before := x.operator.read("anchor.lock")

			ref := x.push(t, repository, "2.0.0")
			if each.sign != nil {
				x.attach(t, ref, each.sign(t, x, old, ref))
			}
			keys, revoked := acme, ""
			if each.trusts != "" {
				keys = append(keys, x.keys["older"].Public().String())
			}
			switch each.revoked {
			case "older":
				revoked = fmt.Sprintf("  revoked: {keys: [%s]}\n", x.keys["older"].Public().ID)
			case "digest":
				revoked = fmt.Sprintf("  revoked: {digests: ['%s']}\n", ref.Digest)
			}
			x.trusts(keys, revoked, "2.0.0")
			x.operator.refused(cmp.Or(each.code, 5), each.want, "plugin", "install")
			x.operator.refused(cmp.Or(each.code, 5), each.want, "plugin", "verify", ref.String())
			if x.operator.read("anchor.lock") != before {
				t.Error("the lock changed")
			}
			x.trusts(keys, revoked, "1.0.0")
			x.operator.locked("1.0.0")

			// One right signature is enough, whatever stands beside it.
			if !each.final {
				x.attach(t, ref, x.statement(t, "acme", repository, ref.Digest, is("2.0.0")))
				x.trusts(keys, "", "2.0.0")
				x.operator.ok("plugin", "install")
				x.operator.locked("2.0.0")
			}
		})
	}
}

// TestRotation changes the key of a publisher, from one that is trusted to another one.
func TestRotation(t *testing.T) {
	const repository = "acme/keep-first"
	x := newSigners(t)
	older, acme := x.keys["older"].Public().String(), x.keys["acme"].Public().String()
	ref := x.push(t, repository, "1.0.0")
	x.attach(t, ref, x.statement(t, "older", repository, ref.Digest, is("1.0.0")))
	x.trusts([]string{older}, "", "1.0.0")
	x.operator.ok("plugin", "install")
	x.trusts([]string{acme}, "", "1.0.0")
	x.operator.refused(8, "trust.publishers does not list it", "build", "--strict", "q")
	x.trusts([]string{older, acme}, "", "1.0.0")
	x.operator.locked("1.0.0")
	ref = x.push(t, repository, "1.1.0")
	x.attach(t, ref, x.statement(t, "acme", repository, ref.Digest, is("1.1.0")))
	x.trusts([]string{older, acme}, "", "1.1.0")
	x.operator.ok("plugin", "install")
	x.trusts([]string{acme}, "", "1.1.0")
	x.operator.locked("1.1.0")
}

// TestMovedTag moves the tag that the configuration names. The lock keeps what it names.
func TestMovedTag(t *testing.T) {
	x := newSigners(t)
	x.operator.write("anchor.yaml", fmt.Sprintf("steps: [{name: keep, use: 'oci://%s/acme/keep-first:stable'}]"+turn, x.s.host))
	tag := func(version string) {
		t.Helper()
		if _, err := x.client.Push(t.Context(), x.s.ref("acme/keep-first", "stable"), artifact(t, version, 0), registry.PushOptions{Move: true}); err != nil {
			t.Fatal(err)
		}
	}
	tag("1.0.0")
	x.operator.ok("plugin", "install")
	x.author.write("p.wasm", string(module(t, fmt.Sprintf(plugin, "1.1.0"), 0)))
	x.author.refused(1, "", "plugin", "publish", "--unchecked", "--unsigned", "p.wasm", "oci://"+x.s.host+"/acme/keep-first:stable")
	tag("1.1.0")
	if err := os.RemoveAll(filepath.Join(x.operator.dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	x.operator.ok("plugin", "install", "--frozen")
	x.operator.locked("1.0.0")
	fresh := newTeam(t, x.s) // has no cache: the registry still has the digest
	fresh.write("anchor.yaml", x.operator.read("anchor.yaml"))
	fresh.write("anchor.lock", x.operator.read("anchor.lock"))
	fresh.ok("plugin", "install", "--frozen")
	fresh.locked("1.0.0")
	if out := fresh.ok("plugin", "update", "--dry-run"); !strings.Contains(out, "1.1.0") {
		t.Errorf("outdated: %s", out)
	}
}

// TestBadLocks has locks that no command may take.
func TestBadLocks(t *testing.T) {
	x := newSigners(t)
	x.push(t, "acme/keep-first", "1.0.0")
	x.operator.write("anchor.yaml", fmt.Sprintf("steps: [{name: keep, use: 'oci://%s/acme/keep-first:1.0.0'}]"+turn, x.s.host))
	x.operator.ok("plugin", "install")
	good, installed := x.operator.read("anchor.lock"), x.operator.read("plugins/keep-first.wasm")
	for name, each := range map[string]struct{ text, want string }{
		"newer":      {strings.Replace(good, "version: 1", "version: 2", 1), "use the anchor-host that wrote the file"},
		"a conflict": {"<<<<<<< HEAD\n" + good + "=======\n" + good + ">>>>>>> other\n", "conflict"},
		"twice":      {good + good[strings.Index(good, "  - name"):], "keep-first"},
		"a page":     {"<html>", "not a valid anchor.lock"},
		"nothing":    {"", "anchor.lock"},
		"too large":  {good + strings.Repeat("#\n", 3<<20), "not a valid anchor.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			x.operator.write("anchor.lock", each.text)
			for _, args := range [][]string{{"plugin", "install"}, {"plugin", "install", "--frozen"}, {"plugin", "update"}, {"plugin", "verify"}, {"build", "q"}, {"config", "validate"}} {
				x.operator.refused(3, each.want, args...)
			}
			if x.operator.read("anchor.lock") != each.text || x.operator.read("plugins/keep-first.wasm") != installed {
				t.Error("the lock or the plugin changed")
			}
			x.operator.write("anchor.lock", good)
			x.operator.locked("1.0.0")
		})
	}
}

// put writes a blob or a manifest into a registry as another client would.
func put(t *testing.T, s server, repository, tag, mediaType string, text []byte) string {
	t.Helper()
	sum := sha256.Sum256(text)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	method, address := http.MethodPut, fmt.Sprintf("http://%s/v2/%s/manifests/%s", s.host, repository, tag)
	if tag == "" {
		method, address = http.MethodPost, fmt.Sprintf("http://%s/v2/%s/blobs/uploads/?digest=%s", s.host, repository, digest)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", address, answer.Status)
	}
	return digest
}

// TestCosignTag installs what is signed in the older form of cosign: under a tag.
func TestCosignTag(t *testing.T) {
	x := newSigners(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	// sign writes the signature for one artifact under the tag of another one.
	sign := func(of, about registry.Reference) {
		payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, about.Digest)
		sum := sha256.Sum256(payload)
		signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		config := put(t, x.s, "acme/keep-first", "", "application/octet-stream", []byte("{}"))
		layer := put(t, x.s, "acme/keep-first", "", "application/octet-stream", payload)
		put(t, x.s, "acme/keep-first", strings.Replace(of.Digest, ":", "-", 1)+".sig", "application/vnd.oci.image.manifest.v1+json", fmt.Appendf(nil,
			`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":2},"layers":[{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","digest":%q,"size":%d,"annotations":{"dev.cosignproject.cosign/signature":%q}}]}`,
			config, layer, len(payload), base64.StdEncoding.EncodeToString(signature)))
	}
	trusted, _ := json.Marshal(string(public))
	one, two := x.push(t, "acme/keep-first", "1.0.0"), x.push(t, "acme/keep-first", "2.0.0")
	x.trusts([]string{string(trusted)}, "", "1.0.0")
	x.operator.refused(5, "not signed", "plugin", "install")
	sign(one, one)
	x.operator.ok("plugin", "install")
	x.operator.locked("1.0.0")
	sum := sha256.Sum256(der)
	if lock := x.operator.read("anchor.lock"); !strings.Contains(lock, "signer: sha256:"+hex.EncodeToString(sum[:])) {
		t.Errorf("the lock does not name the key:\n%s", lock)
	}
	x.operator.ok("plugin", "verify", "--offline", "oci://"+x.s.host+"/acme/keep-first:1.0.0")

	// The signature travels with the plugin, and prune keeps it.
	x.operator.ok("plugin", "prune")
	x.operator.ok("plugin", "save", "--file", "plugins.tar")
	away := newTeam(t, x.s)
	for _, name := range []string{"anchor.yaml", "anchor.lock", "plugins.tar"} {
		away.write(name, x.operator.read(name))
	}
	away.ok("plugin", "install", "--from", "plugins.tar")
	away.ok("plugin", "install", "--frozen", "--offline")
	away.ok("plugin", "verify", "--offline", "oci://"+x.s.host+"/acme/keep-first:1.0.0")

	x.trusts([]string{string(trusted)}, "", "2.0.0")
	sign(two, one)
	x.operator.refused(5, "it is about", "plugin", "install")
	x.trusts([]string{string(trusted)}, "", "1.0.0")
	x.operator.locked("1.0.0")
}

// TestFlood has a stranger attach more than is read, and much in one piece. It ends soon, with
// an error that says so, and what was installed before still runs.
func TestFlood(t *testing.T) {
	const repository = "acme/keep-first"
	x := newSigners(t)
	old := x.push(t, repository, "1.0.0")
	x.attach(t, old, x.statement(t, "acme", repository, old.Digest, is("1.0.0")))
	acme := []string{x.keys["acme"].Public().String()}
	x.trusts(acme, "", "1.0.0")
	x.operator.ok("plugin", "install")
	attack := func(version string, sizes int64, count int) registry.Reference {
		ref := x.push(t, repository, version)
		put(t, x.s, repository, "", "application/octet-stream", []byte("{}"))
		layer := put(t, x.s, repository, "", "application/octet-stream", []byte("{}"))
		for i := range count {
			text := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":%d}],"subject":{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":2},"annotations":{"n":"%d"}}`,
				registry.TypeSignature, layer, registry.TypeSignature, layer, sizes, ref.Digest, i)
			sum := sha256.Sum256(text)
			put(t, x.s, repository, "sha256:"+hex.EncodeToString(sum[:]), "application/vnd.oci.image.manifest.v1+json", text)
		}
		x.attach(t, ref, x.statement(t, "acme", repository, ref.Digest, is(version)))
		return ref
	}
	for _, each := range []struct {
		name, version, want string
		size                int64
		count               int
	}{
		{"10,000 attachments", "2.0.0", "more than 1000 attachments", 2, 10_000},
		{"a signature of 1 GB", "3.0.0", "limit", 1 << 30, 1},
	} {
		t.Run(each.name, func(t *testing.T) {
			attack(each.version, each.size, each.count)
			x.trusts(acme, "", each.version)
			before, start := x.operator.read("anchor.lock"), time.Now()
			x.operator.refused(7, each.want, "plugin", "install")
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if x.operator.read("anchor.lock") != before {
				t.Error("the lock changed")
			}
			x.trusts(acme, "", "1.0.0")
			x.operator.locked("1.0.0")
		})
	}
}

// TestCosign has the program itself sign, in both of its forms. ANCHOR_COSIGN is its path.
func TestCosign(t *testing.T) {
	path := os.Getenv("ANCHOR_COSIGN")
	if path == "" {
		t.Skip("ANCHOR_COSIGN is not set: make test-registry-cosign builds cosign, which takes minutes")
	}
	x := newSigners(t)
	run := func(args ...string) {
		t.Helper()
		c := exec.Command(path, args...)
		c.Dir, c.Env = x.author.dir, []string{"HOME=" + x.author.dir, "COSIGN_PASSWORD=secret", "TUF_ROOT=" + x.author.dir}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("cosign %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("generate-key-pair")
	trusted, _ := json.Marshal(x.author.read("cosign.pub"))
	for i, form := range [][]string{nil, {"--new-bundle-format"}} {
		version := fmt.Sprintf("1.%d.0", i)
		ref := x.push(t, "acme/keep-first", version)
		x.trusts([]string{string(trusted)}, "", version)
		x.operator.refused(5, "not signed", "plugin", "install")
		run(append(append([]string{"sign", "--key", "cosign.key", "--tlog-upload=false", "--yes", "--allow-http-registry"}, form...), strings.TrimPrefix(ref.At(ref.Digest).String(), "oci://"))...)
		x.operator.ok("plugin", "install")
		x.operator.locked(version)
	}
}
