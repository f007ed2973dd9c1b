package failure

import (
	"context"
	"fmt"
	"testing"
)

// The end of the time is told in words also where no part adds what it did.
func TestBareContextErrors(t *testing.T) {
	for _, tt := range []struct {
		err           error
		message, kind string
	}{
		{context.DeadlineExceeded, "the deadline came before it was done", "timeout"},
		{context.Canceled, "it was cancelled", "cancelled"},
		{fmt.Errorf("read x: %w", context.DeadlineExceeded), "read x: context deadline exceeded", "timeout"},
	} {
		for _, doc := range []Document{Of(tt.err), Public(tt.err)} {
			if doc.Error.Message != tt.message || doc.Error.Reason != tt.kind {
				t.Errorf("%v: %+v", tt.err, doc.Error)
			}
		}
	}
}
