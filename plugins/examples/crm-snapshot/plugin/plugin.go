package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
)

// MessageName is the name of the message with the record. The new record replaces an older
// message of that name.
const MessageName = "crm_snapshot"

// The HTTP statuses that Record distinguishes.
const (
	statusOK        = 200
	statusNoContent = 204
	statusNotFound  = 404
	statusGone      = 410
)

// URL returns the address of the record, or "" if the data of the agent's state names no
// account.
func (s *Settings) URL(data abi.Metadata) (string, error) {
	var id string
	switch v := data[s.IDKey].(type) {
	case nil:
		return "", nil
	case string:
		id = v
	case int64:
		id = strconv.FormatInt(v, 10)
	default:
		return "", fmt.Errorf("data.%s: a %T (want a string or an integer)", s.IDKey, v)
	}
	if id == "" {
		return "", nil
	}
	if id == "." || id == ".." {
		return "", fmt.Errorf("data.%s %q: not an id", s.IDKey, id) // such an id would change the path
	}
	return strings.TrimSuffix(s.BaseURL, "/") + strings.ReplaceAll(s.Path, idMark, url.PathEscape(id)), nil
}

// Record returns the JSON of the record on one line, or "" if the answer says that there is
// none.
func (s *Settings) Record(status int, body []byte) (string, error) {
	switch status {
	case statusNoContent, statusNotFound, statusGone:
		return "", nil
	case statusOK:
	default:
		return "", fmt.Errorf("status %d (want 200, or 404 for no such account)", status)
	}
	if body = bytes.TrimSpace(body); len(body) == 0 || string(body) == "null" {
		return "", nil
	}
	var record bytes.Buffer
	if body[0] != '{' {
		return "", errors.New("answer is not a JSON object")
	}
	if err := json.Compact(&record, body); err != nil {
		return "", fmt.Errorf("answer: %w", err)
	}
	if record.Len() > s.MaxBytes {
		return "", fmt.Errorf("record of %d bytes, allowed %d (raise max_bytes)", record.Len(), s.MaxBytes)
	}
	return record.String(), nil
}

// Insert returns the messages with an additional system message of that text. It comes first,
// or second if the first message is a system message, so that the instructions of the agent
// remain first.
func Insert(messages []abi.Message, text string) []abi.Message {
	out := slices.DeleteFunc(slices.Clone(messages), func(m abi.Message) bool {
		return m.Role == "system" && m.Name == MessageName
	})
	at := 0
	if len(out) > 0 && out[0].Role == "system" {
		at = 1
	}
	return slices.Insert(out, at, abi.Message{Role: "system", Name: MessageName, Content: text})
}
