package assemble

import (
	"errors"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// checkSettings checks settings against a schema of a manifest, as the host does when it loads
// the plugin. The error does not name the place in the file; the caller adds it.
func checkSettings(spec *spec.Spec, op abi.Operation, settings map[string]any) error {
	_, err := spec.CheckSettings(op, settings)
	if err == nil {
		return nil
	}
	_, text, found := strings.Cut(err.Error(), "settings: "+host.ErrConfig.Error()+": ")
	if !found {
		return err
	}
	return errors.New(text)
}
