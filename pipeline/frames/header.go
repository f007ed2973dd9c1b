package frames

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// ObjectType says which kind of document it is.
type ObjectType string

// The types of this package, as their documents write them.
const (
	TypePipeline ObjectType = "context_pipeline"
	TypePlan     ObjectType = "plan"
	TypeIntent   ObjectType = "intent"
)

// UnmarshalText reads a type. It also accepts "pipeline", the name in a loose object.
func (t *ObjectType) UnmarshalText(text []byte) error {
	*t = ObjectType(text)
	if *t == "pipeline" {
		*t = TypePipeline
	}
	return nil
}

// Visibility says who may see a document.
type Visibility string

// The visibilities. New documents are private.
const (
	Private Visibility = "private"
	Public  Visibility = "public"
)

// ActorKind is the kind of a creator: one of the constants, or any other text.
type ActorKind string

// The kinds of git-internal.
const (
	Human     ActorKind = "human"
	Agent     ActorKind = "agent"
	System    ActorKind = "system"
	MCPClient ActorKind = "mcp_client"
)

// Actor is who created a document. The id is required.
type Actor struct {
	Kind        ActorKind
	ID          string
	DisplayName string // optional
	AuthContext string // optional
}

// Validate refuses an actor without an id.
func (a Actor) Validate() error {
	if strings.TrimSpace(a.ID) == "" {
		return fmt.Errorf("actor: id is empty: %w (say who creates this)", pipeline.ErrInvalid)
	}
	return nil
}

// MarshalJSON writes null for fields that are empty.
func (a Actor) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind        ActorKind `json:"kind"`
		ID          string    `json:"id"`
		DisplayName *string   `json:"display_name"`
		AuthContext *string   `json:"auth_context"`
	}{a.Kind, a.ID, orNull(a.DisplayName), orNull(a.AuthContext)})
}

// UnmarshalJSON reads an actor and refuses a blank id. On an error it is unchanged.
func (a *Actor) UnmarshalJSON(data []byte) error {
	var read Actor
	err := decode.Object(data, decode.Required("kind", &read.Kind), decode.Required("id", &read.ID),
		decode.Optional("display_name", &read.DisplayName), decode.Optional("auth_context", &read.AuthContext))
	if err != nil {
		return fmt.Errorf("actor: %w", err)
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*a = read
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Header has the fields that every document begins with. In JSON they are in the same
// object as the fields of the document. The object id and the type never change.
type Header struct {
	ObjectID      UUID              `json:"object_id"`
	ObjectType    ObjectType        `json:"object_type"`
	HeaderVersion uint32            `json:"header_version"` // 1 or more
	SchemaVersion uint32            `json:"schema_version"` // 1 or more
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
	CreatedBy     Actor             `json:"created_by"`
	Visibility    Visibility        `json:"visibility"`
	Tags          map[string]string `json:"tags"`
	ExternalIDs   map[string]string `json:"external_ids"`
	// Checksum is the checksum that the program that wrote the document has set. It is
	// empty in documents of this package, and after a change.
	Checksum Checksum `json:"checksum"`
}

// Checksum is null in JSON when empty.
type Checksum string

// MarshalJSON writes a string or null.
func (c Checksum) MarshalJSON() ([]byte, error) { return json.Marshal(orNull(string(c))) }

// NewHeader returns the header of a new private document, with a new id. A zero
// time means now.
func NewHeader(t ObjectType, creator Actor, at time.Time) (Header, error) {
	if err := creator.Validate(); err != nil {
		return Header{}, err
	}
	at = orNow(at)
	return Header{
		ObjectID: NewUUID(at), ObjectType: t, HeaderVersion: 1, SchemaVersion: 1,
		CreatedAt: at, UpdatedAt: at, CreatedBy: creator, Visibility: Private,
		Tags: map[string]string{}, ExternalIDs: map[string]string{},
	}, nil
}

func orNow(at time.Time) time.Time {
	if at.IsZero() {
		at = time.Now()
	}
	return at.UTC()
}

// members returns the members of the header, followed by those of the document.
func (h *Header) members(body ...decode.Member) []decode.Member {
	h.HeaderVersion = 1
	return append(body,
		decode.Required("object_id", &h.ObjectID), decode.Required("object_type", &h.ObjectType),
		decode.Optional("header_version", &h.HeaderVersion), decode.Required("schema_version", &h.SchemaVersion),
		decode.Required("created_at", &h.CreatedAt), decode.Optional("updated_at", &h.UpdatedAt),
		decode.Required("created_by", &h.CreatedBy), decode.Required("visibility", &h.Visibility),
		decode.Optional("tags", &h.Tags), decode.Optional("external_ids", &h.ExternalIDs), decode.Optional("checksum", &h.Checksum),
		decode.Optional("repo_id", nil)) // older documents have it
}

// check validates a header that was read or that a caller has made, and sets the fields
// that may be absent.
func (h *Header) check(want ObjectType) error {
	switch {
	case h.ObjectType != want:
		return fmt.Errorf("object_type %.100q: %w (want %.100q)", h.ObjectType, pipeline.ErrInvalid, want)
	case h.HeaderVersion == 0:
		return fmt.Errorf("header_version 0: %w (want 1 or more)", pipeline.ErrInvalid)
	case h.SchemaVersion == 0:
		return fmt.Errorf("schema_version 0: %w (want 1 or more)", pipeline.ErrInvalid)
	case h.Visibility != Private && h.Visibility != Public:
		return fmt.Errorf("visibility %.100q: %w (want %.100q or %.100q)", h.Visibility, pipeline.ErrInvalid, Private, Public)
	}
	if err := cleanTime(&h.CreatedAt); err != nil {
		return fmt.Errorf("created_at: %w", err)
	}
	if err := cleanTime(&h.UpdatedAt); err != nil {
		return fmt.Errorf("updated_at: %w", err)
	}
	if h.UpdatedAt.IsZero() {
		h.UpdatedAt = h.CreatedAt
	}
	if h.Tags == nil {
		h.Tags = map[string]string{}
	}
	if h.ExternalIDs == nil {
		h.ExternalIDs = map[string]string{}
	}
	return h.CreatedBy.Validate()
}

// cloneHeader returns a copy that shares no map.
func cloneHeader(h Header) Header {
	h.Tags = maps.Clone(h.Tags)
	h.ExternalIDs = maps.Clone(h.ExternalIDs)
	return h
}
