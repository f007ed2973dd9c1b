package frames

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// cleanJSON checks a JSON value and returns it as compact text in valid UTF-8. It returns
// nil for null.
func cleanJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, bytes.ToValidUTF8(data, []byte("\uFFFD"))); err != nil {
		return nil, err
	}
	if out.String() == "null" {
		return nil, nil
	}
	return out.Bytes(), nil
}

// cleanTime converts a time to UTC. It refuses a time that RFC 3339 cannot write.
func cleanTime(t *time.Time) error {
	utc := t.UTC()
	if year := utc.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("year %d: %w (want 0 to 9999)", year, pipeline.ErrInvalid)
	}
	*t = utc
	return nil
}
