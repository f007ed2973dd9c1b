package assemble

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// The reasons why a plugin cannot be called, in addition to those of package abi.
const (
	// ReasonNotFound says that the plugin, or a folder that it is granted, does not exist.
	ReasonNotFound = "not_found"
	// ReasonInvalidPlugin says that the module or its manifest is invalid.
	ReasonInvalidPlugin = "invalid_plugin"
	// ReasonInvalidConfig says that the plugin refuses its configuration.
	ReasonInvalidConfig = "invalid_config"
)

func reasonFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ReasonNotFound
	case errors.Is(err, host.ErrConfig), errors.Is(err, config.ErrInvalid):
		return ReasonInvalidConfig
	}
	return ReasonInvalidPlugin
}

// mistake reports whether an error is a mistake in the configuration itself, with which no build
// can succeed. A missing or unreadable plugin or granted folder is not a mistake: only the steps
// that need it fail. An anchor.lock that cannot be understood is one: it stops all plugins.
func mistake(err error) bool {
	return (errors.Is(err, config.ErrInvalid) || errors.Is(err, host.ErrConfig) || errors.Is(err, lock.ErrInvalid)) && !errors.Is(err, host.ErrFolder)
}

// StepError is the error of a step that cannot be set up.
type StepError struct {
	Step string
	Err  error
}

// Error names the step and the cause on one line.
func (e *StepError) Error() string { return fmt.Sprintf("step %q: %v", e.Step, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Unavailable is the error of a step whose plugin could not be made ready.
type Unavailable struct {
	Plugin    string
	Operation abi.Operation
	// Code is one of the reasons above or of package abi.
	Code string
	Err  error
}

// Error names the plugin, the operation if it is known, the reason and the
// cause on one line.
func (u *Unavailable) Error() string {
	op := ""
	if u.Operation != "" {
		op = string(u.Operation) + ": "
	}
	return fmt.Sprintf("plugin %q: %s%s: %v", u.Plugin, op, u.Code, u.Err)
}

// Unwrap returns the cause.
func (u *Unavailable) Unwrap() error { return u.Err }

// Reason returns the typed reason.
func (u *Unavailable) Reason() string { return u.Code }

// PluginName returns the name of the plugin.
func (u *Unavailable) PluginName() string { return u.Plugin }

// renamed is an error with another text.
type renamed struct {
	text  string
	cause error
}

func (r *renamed) Error() string { return r.text }
func (r *renamed) Unwrap() error { return r.cause }
