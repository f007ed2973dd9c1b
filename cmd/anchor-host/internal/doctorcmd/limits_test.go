package doctorcmd

import (
	"strings"
	"testing"
)

func TestMemoryOfTheControlGroup(t *testing.T) {
	for _, tt := range []struct {
		limit, guests int64
		status, word  string
	}{
		{64 << 20, 1 << 30, statusWarning, "may need 256 MiB"},
		{1 << 30, 1 << 30, statusWarning, "guests may take 1024 MiB"},
		{2 << 30, 1 << 30, statusOK, "allows 2048 MiB"},
	} {
		if f := memoryIn(tt.limit, tt.guests); f.Status != tt.status || !strings.Contains(f.Detail, tt.word) {
			t.Errorf("%+v: %+v", tt, f)
		}
	}
}
