package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// A secret that a plugin writes is in no log line and in no error, in none of their forms.
func TestSecretsAreHidden(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	p := loadAllops(t, h, host.PluginConfig{Config: map[string]string{"key": "sesame-open-1"}, Secrets: []string{"sesame", "sesame-open-1", "abc"}})
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: map[string]any{"mode": "leak", "word": "key"}, TopK: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), nothing, nil)
	var failed *host.PluginError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "not authorized with ***") {
		t.Fatalf("error %v", err)
	}
	for what, text := range map[string]string{"error": fmt.Sprintf("%+v", failed), "cause": failed.Err.Error(), "guest log": failed.Log, "log": log.String()} {
		if strings.Contains(text, "sesame") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if !strings.Contains(log.String(), "the key is ***") || !strings.Contains(failed.Log, "key ***") {
		t.Errorf("log %s\nguest log %s", &log, failed.Log)
	}
}
