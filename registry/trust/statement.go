package trust

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/anchor-host/anchor-host/internal/plain"
)

const (
	// PayloadType is the type of what envelopes hold: a Statement of in-toto.
	PayloadType = "application/vnd.in-toto+json"
	// PredicateType is the type of what a statement says about a plugin: a [Plugin].
	PredicateType = "https://anchor-host.dev/plugin/v1"

	statementType = "https://in-toto.io/Statement/v1"
	// cosignPredicate is the type of statement in which cosign says only that it signed.
	cosignPredicate = "https://sigstore.dev/cosign/sign/v1"
	// bundleType begins the media type of a bundle of cosign.
	bundleType = "application/vnd.dev.sigstore.bundle"

	// maxEnvelope bounds an envelope in bytes, maxSignatures the signatures in it and
	// maxSubjects what one statement is about.
	maxEnvelope, maxSignatures, maxSubjects = 256 << 10, 16, 1000
)

// Plugin is what a signature says about a plugin.
type Plugin struct {
	// Name and Version are those of its manifest.
	Name    string `json:"name"`
	Version string `json:"version"`
	// ABI is the version of the contract that it speaks, 0 for a foreign module.
	ABI int `json:"abi"`
	// Permissions is the hash of the permissions that it asks for, in the form that package
	// registry/lock defines.
	Permissions string `json:"permissions"`
	// Source is the revision of the source that it was built from, "" if it is not known.
	Source string `json:"source,omitzero"`
}

// statement is a Statement of in-toto.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	// Predicate is nil in a statement of cosign.
	Predicate *Plugin `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitzero"`
	Digest map[string]string `json:"digest"`
}

// envelope is a DSSE envelope. Both texts are in base64.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	// KeyID is a hint only: nothing protects it.
	KeyID string `json:"keyid,omitzero"`
	Sig   string `json:"sig"`
}

// SignStatement returns an envelope with a signed statement about the manifest of an artifact.
// repository names the artifact, such as ghcr.io/acme/bm25, and digest is that of its manifest.
// The same arguments have the same result.
func (k *SecretKey) SignStatement(repository, digest string, p Plugin) ([]byte, error) {
	if err := CheckDigest(digest); err != nil {
		return nil, fmt.Errorf("statement: sign: %w", err)
	}
	s := statement{
		Type: statementType, PredicateType: PredicateType, Predicate: &p,
		Subject: []subject{{Name: repository, Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}},
	}
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("statement: encode: %w", err)
	}
	e := envelope{PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload)}
	e.Signatures = []signature{{KeyID: keyID(k.key.ID()), Sig: base64.StdEncoding.EncodeToString(k.sign(signedBytes(PayloadType, payload)))}}
	out, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("envelope: encode: %w", err)
	}
	return out, nil
}

// signedBytes returns the bytes that an envelope's signatures sign (PAE of DSSE). The type is part
// of them, so that a payload cannot be taken for one of another type.
func signedBytes(payloadType string, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(payloadType))...)
	b = append(append(b, ' '), payloadType...)
	b = append(append(b, ' '), strconv.Itoa(len(payload))...)
	return append(append(b, ' '), payload...)
}

// parseEnvelope reads an envelope, or the one in a bundle of cosign. It returns the payload too.
func parseEnvelope(data []byte) (envelope, []byte, error) {
	var e struct {
		envelope
		MediaType string    `json:"mediaType"`
		DSSE      *envelope `json:"dsseEnvelope"`
	}
	if len(data) > maxEnvelope {
		return envelope{}, nil, unreadable("envelope", "longer than %d bytes", maxEnvelope)
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return envelope{}, nil, unreadable("envelope", "%s", plain.Excerpt(err.Error()))
	}
	out := e.envelope
	if strings.HasPrefix(e.MediaType, bundleType) {
		if e.DSSE == nil {
			return envelope{}, nil, unreadable("bundle", "it has no envelope (sign the artifact itself, not a file)")
		}
		out = *e.DSSE
	}
	switch {
	case out.PayloadType != PayloadType:
		return envelope{}, nil, unreadable("envelope", "payloadType is %.100q (want %s)", out.PayloadType, PayloadType)
	case len(out.Signatures) == 0:
		return envelope{}, nil, unreadable("envelope", "it has no signatures")
	case len(out.Signatures) > maxSignatures:
		return envelope{}, nil, unreadable("envelope", "%d signatures (want %d at most)", len(out.Signatures), maxSignatures)
	}
	payload, err := decode64(out.Payload)
	if err != nil {
		return envelope{}, nil, unreadable("envelope", "payload is not base64")
	}
	return out, payload, nil
}

// parseStatement reads a signed payload, which says that its key stands for the artifact with this
// digest. The result is what it says about the plugin, nil if it is one of cosign.
func parseStatement(payload []byte, digest string) (*Plugin, error) {
	var s statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, unreadable("statement", "%s", plain.Excerpt(err.Error()))
	}
	switch {
	case s.Type != statementType:
		return nil, unreadable("statement", "_type is %.100q (want %s)", s.Type, statementType)
	case s.PredicateType != PredicateType && s.PredicateType != cosignPredicate:
		return nil, unreadable("statement", "predicateType is %.100q (want %s)", s.PredicateType, PredicateType)
	case len(s.Subject) > maxSubjects:
		return nil, unreadable("statement", "%d subjects (want %d at most)", len(s.Subject), maxSubjects)
	case s.PredicateType == PredicateType && (len(s.Subject) != 1 || s.Predicate == nil):
		return nil, unreadable("statement", "want one subject and a predicate")
	}
	for _, about := range s.Subject {
		if "sha256:"+about.Digest["sha256"] == digest {
			if s.PredicateType == cosignPredicate {
				return nil, nil
			}
			return s.Predicate, nil
		}
	}
	other := "nothing"
	if len(s.Subject) > 0 {
		other = fmt.Sprintf("sha256:%.64s", plain.Line(s.Subject[0].Digest["sha256"]))
	}
	return nil, fmt.Errorf("statement: verify: %w: it is about %s, not about %s (pull the artifact again, or ask its author to sign this one)", ErrSubject, other, digest)
}

func unreadable(what, format string, args ...any) error {
	return fmt.Errorf("%s: read: %w: %s", what, ErrFormat, fmt.Sprintf(format, args...))
}

// decode64 reads base64 in one of its two alphabets, as DSSE allows.
func decode64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, base64.CorruptInputError(0)
	}
	if strings.ContainsAny(s, "-_") {
		return base64.URLEncoding.Strict().DecodeString(s)
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}

// CheckDigest refuses what is not "sha256:" and 64 hexadecimal digits in small letters. Errors
// wrap [ErrFormat].
func CheckDigest(s string) error {
	digits, ok := strings.CutPrefix(s, "sha256:")
	if _, err := hex.DecodeString(digits); !ok || err != nil || len(digits) != 64 || strings.ToLower(digits) != digits {
		return fmt.Errorf("digest: read %.100q: %w (want sha256: and 64 hexadecimal digits in small letters)", s, ErrFormat)
	}
	return nil
}
