package plugincmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
)

// flagWords replaces the settings in error texts by the flags of "plugin call". Settings
// without a flag stay. If one setting is the beginning of another, the longer one comes first.
var flagWords = strings.NewReplacer(
	"grants.http.private", "--allow-private",
	"grants.http.methods", "--allow-method",
	"grants.http.hosts", "--allow-host",
	"grants.http", "--allow-host",
	"grants.kv", "--allow-kv",
	"grants.services", "--allow-service",
	"grants.embed", "--allow-service embed",
	"grants.search", "--allow-service search",
	"grants.llm", "--allow-service llm",
	"limits.timeout", "--timeout",
	"limits.init_timeout", "--timeout",
	"limits.memory", "--memory-max",
	"limits.load_time", "--load-time",
	"limits.fuel", "--fuel",
	": its author can reproduce it with plugin call", "",
)

// callError rewrites the error of a call for the command line.
func callError(a *cli.App, err error) error {
	var failed *host.PluginError
	if !errors.As(err, &failed) {
		return flagError{err}
	}
	failed.Remedy = flagWords.Replace(failed.Remedy)
	return withLog(a, err)
}

// hasPlace are the reasons for which the stack shows what the guest did when it was stopped.
var hasPlace = map[abi.Reason]bool{abi.ReasonTrap: true, abi.ReasonInitFailed: true, abi.ReasonTimeout: true, abi.ReasonFuel: true}

// withLog prints what the guest wrote before it failed, and the place of a trap.
func withLog(a *cli.App, err error) error {
	if failed, ok := errors.AsType[*host.PluginError](err); ok {
		guestLog(a, failed.Log)
		if failed.Stack != "" && hasPlace[failed.Code] {
			guestLog(a, "guest stack:\n"+readable(failed.Stack))
		}
	}
	return err
}

// flagError is an error of loading that the values of flags have caused.
type flagError struct{ err error }

func (e flagError) Error() string { return flagWords.Replace(e.err.Error()) }
func (e flagError) Unwrap() error { return e.err }

// guestLog prints what a guest wrote to stderr, stdout and its log.
func guestLog(a *cli.App, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(a.Err, plainLine(line))
	}
}
