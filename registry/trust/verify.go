package trust

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// The forms of signatures.
const (
	// FormDSSE is an envelope that this package wrote.
	FormDSSE = "dsse"
	// FormCosign is a signature of cosign, of the old form or the new one.
	FormCosign = "cosign"
	// FormMinisign is a signature beside a file.
	FormMinisign = "minisign"
)

const (
	// maxChecks bounds how many signatures are computed for one artifact: at 0.1 ms each, what
	// others attached to it costs 0.1 s at most.
	maxChecks = 1000
	// maxPayload bounds the payload of an old signature of cosign, in bytes.
	maxPayload = 64 << 10
	// simpleType is the type of such a payload.
	simpleType = "cosign container image signature"
)

// Signatures are what a registry has about an artifact. Everybody who may write to a registry can
// attach signatures, so that some may be wrong. Who fetches them bounds their number: each is parsed.
type Signatures struct {
	// Envelopes are DSSE envelopes, or bundles of cosign.
	Envelopes [][]byte
	// Simple are signatures of cosign in its old form.
	Simple []SimpleSignature
}

// SimpleSignature is a signature of cosign in its old form: a layer of the type
// application/vnd.dev.cosign.simplesigning.v1+json.
type SimpleSignature struct {
	// Payload is the layer.
	Payload []byte
	// Signature is the layer's annotation dev.cosignproject.cosign/signature, in base64.
	Signature string
}

// Signer is who signed.
type Signer struct {
	// Key is the id of the key; see [PublicKey].
	Key string
	// Publisher is the pattern of the policy that lists the key. It is "" for a file.
	Publisher string
	// Form is one of the forms above.
	Form string
	// Plugin is what an envelope says about the plugin. It is nil in other forms.
	Plugin *Plugin
	// Comment is the signed comment of a file's signature.
	Comment string
}

// Check compares what the signature says with the plugin itself. An error wraps [ErrSubject] and
// names the first difference. Source is not compared. A signature that says nothing fits.
func (s Signer) Check(is Plugin) error {
	if s.Plugin == nil {
		return nil
	}
	for _, f := range []struct{ field, signed, is string }{
		{"name", s.Plugin.Name, is.Name},
		{"version", s.Plugin.Version, is.Version},
		{"abi", fmt.Sprint(s.Plugin.ABI), fmt.Sprint(is.ABI)},
		{"permissions", s.Plugin.Permissions, is.Permissions},
	} {
		if f.signed != f.is {
			return fmt.Errorf("signature: verify: %w: its %s is %.100q, that of the module is %.100q (ask its author to sign this one)",
				ErrSubject, f.field, f.signed, f.is)
		}
	}
	return nil
}

// Verify returns who signed the artifact of a reference, whose manifest has this digest. One valid
// signature by a key of the publisher is enough; others are not regarded.
//
// Without one, the result is the zero Signer, and an error if the policy requires a signature: it
// wraps [ErrUnsigned], [ErrFormat], [ErrKey], [ErrSignature], [ErrSubject] or [ErrRevoked].
// Whatever the policy requires, it is an error if the digest is revoked, or if a revoked key of the
// publisher signed the artifact and no other one did.
func (p *Policy) Verify(reference, digest string, s Signatures) (Signer, error) {
	if err := CheckDigest(digest); err != nil {
		return Signer{}, fmt.Errorf("%.300q: %w", reference, err)
	}
	if slices.Contains(p.RevokedDigests, digest) {
		return Signer{}, fmt.Errorf("%.300q: %w", reference, revokedDigest(digest))
	}
	v := &verifier{policy: p, reference: reference, digest: digest}
	v.pattern, v.keys = p.Publisher(reference)
	if signer, ok := v.any(s); ok {
		return signer, nil
	}
	if p.Require != RequireSigned && !errors.Is(v.err, ErrRevoked) {
		return Signer{}, nil
	}
	if v.err == nil {
		v.err = fmt.Errorf("signature: look for: %w, and trust.require is signed (ask its author to sign it)", ErrUnsigned)
	}
	return Signer{}, fmt.Errorf("%.300q: %w", reference, v.err)
}

// verifier checks the signatures of one artifact.
type verifier struct {
	policy            *Policy
	reference, digest string
	pattern           string
	keys              []PublicKey
	// checks is how many signatures were computed.
	checks int
	// err is the reason that says the most of those seen so far.
	err error
}

// any looks for a signature that counts.
func (v *verifier) any(s Signatures) (Signer, bool) {
	for _, data := range s.Envelopes {
		e, payload, err := parseEnvelope(data)
		if err != nil {
			v.note(err)
			continue
		}
		message := signedBytes(e.PayloadType, payload)
		read := func() (*Plugin, error) { return parseStatement(payload, v.digest) }
		for _, sig := range e.Signatures {
			if signer, ok := v.one(sig.KeyID, sig.Sig, message, read); ok {
				if signer.Form = FormDSSE; signer.Plugin == nil {
					signer.Form = FormCosign
				}
				return signer, true
			}
		}
	}
	for _, simple := range s.Simple {
		if len(simple.Payload) > maxPayload {
			v.note(unreadable("signature of cosign", "its payload is longer than %d bytes", maxPayload))
			continue
		}
		read := func() (*Plugin, error) { return nil, checkSimple(simple.Payload, v.digest) }
		if signer, ok := v.one("", simple.Signature, simple.Payload, read); ok {
			signer.Form = FormCosign
			return signer, true
		}
	}
	return Signer{}, false
}

// one looks for the key that made a signature. read reads what was signed, and is called only if
// the signature is right. id is the name of the key if the signature states one.
func (v *verifier) one(id, text string, message []byte, read func() (*Plugin, error)) (Signer, bool) {
	signature, err := decode64(text)
	if err != nil || len(signature) > 256 {
		v.note(unreadable("signature", "it is not base64, or too long"))
		return Signer{}, false
	}
	named := false
	for _, k := range v.keys {
		if k.text != "" && id != "" && k.ID != id {
			continue // others write ids of their own, but those of minisign's keys are known
		}
		if v.checks++; v.checks > maxChecks {
			v.note(unreadable("signatures", "too many (remove those that others attached)"))
			return Signer{}, false
		}
		if !k.accepts(message, signature) {
			named = named || k.ID == id
			continue
		}
		plugin, err := read()
		if err == nil && slices.Contains(v.policy.RevokedKeys, k.ID) {
			err = revokedKey(k.ID)
		}
		if err != nil {
			v.note(err)
			return Signer{}, false
		}
		return Signer{Key: k.ID, Publisher: v.pattern, Plugin: plugin}, true
	}
	if named {
		v.note(fmt.Errorf("signature: verify: %w of the key %s: it or what it signs was changed (pull the artifact again)", ErrSignature, id))
	} else {
		v.note(unknownKey(plain.Excerpt(id), v.pattern, v.reference))
	}
	return Signer{}, false
}

func (v *verifier) note(err error) { v.err = worse(v.err, err) }

// checkSimple checks that the payload of an old signature of cosign is about a digest.
func checkSimple(payload []byte, digest string) error {
	var p struct {
		Critical struct {
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
			Type string `json:"type"`
		} `json:"critical"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return unreadable("signature of cosign", "%s", plain.Excerpt(err.Error()))
	}
	switch {
	case p.Critical.Type != simpleType:
		return unreadable("signature of cosign", "its type is %.100q (want %s)", p.Critical.Type, simpleType)
	case p.Critical.Image.Digest != digest:
		return fmt.Errorf("signature of cosign: verify: %w: it is about %.100q, not about %s (pull the artifact again, or ask its author to sign this one)",
			ErrSubject, p.Critical.Image.Digest, digest)
	}
	return nil
}
