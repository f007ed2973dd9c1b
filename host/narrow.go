package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// narrow turns side, the plugin.yaml beside a module, into the manifest that applies. It
// checks that side asks for no more than own, the manifest in the module. It copies limits,
// schemas of settings, defaults of steps and self-tests from own where side states none.
// Operations and permissions that side does not state are gone.
func narrow(own, side *abi.Manifest) error {
	if side.Name != own.Name || side.Version != own.Version {
		return fmt.Errorf("is for %s %s, the module is %s %s", side.Name, side.Version, own.Name, own.Version)
	}
	for op, s := range side.Operations {
		o, ok := own.Operations[op]
		if !ok {
			return fmt.Errorf("operation %q is not the module's", op)
		}
		if extra := side.Reads(op) &^ own.Reads(op); extra != 0 {
			return fmt.Errorf("operation %q reads %s, which the module does not ask for", op, extra)
		}
		if extra := side.Writes(op) &^ own.Writes(op); extra != 0 {
			return fmt.Errorf("operation %q writes %s, which the module does not ask for", op, extra)
		}
		if err := narrowOperation(o, &s); err != nil {
			return fmt.Errorf("operation %q %w", op, err)
		}
		side.Operations[op] = s
	}
	for _, p := range side.Permissions {
		if !slices.ContainsFunc(own.Permissions, func(o abi.Permission) bool { return within(p, o) }) {
			return fmt.Errorf("permission %q is not the module's", p.Kind)
		}
	}
	if err := narrowSchema(own.Settings, &side.Settings); err != nil {
		return err
	}
	narrowTests(own, side)
	return narrowLimits(own.Limits, &side.Limits)
}

func narrowOperation(own abi.OperationSpec, side *abi.OperationSpec) error {
	if own.MaxPriority > 0 && (side.MaxPriority > own.MaxPriority || side.MaxPriority == 0) {
		return fmt.Errorf("has max_priority %d, the module %d", side.MaxPriority, own.MaxPriority)
	}
	if side.Timeless && !own.Timeless {
		return errors.New("is timeless, which the module does not promise")
	}
	if err := narrowSchema(own.Settings, &side.Settings); err != nil {
		return err
	}
	o, d := own.Defaults, &side.Defaults
	d.Priority, d.TopK = pick(d.Priority, o.Priority), pick(d.TopK, o.TopK)
	if d.OnError == "" {
		d.OnError = o.OnError
	}
	if most := pick(o.TopK, DefaultTopK); d.TopK > most {
		return fmt.Errorf("has defaults.top_k %d, the module %d", d.TopK, most)
	}
	if o.Timeout == "" { // it is the plugin's limit, which no step can exceed
		return nil
	}
	return narrowLimit("defaults.timeout", o.Timeout, &d.Timeout, durationText)
}

// narrowSchema checks that a schema equals the module's. Whether a different one allows less
// cannot be decided in general.
func narrowSchema(own json.RawMessage, side *json.RawMessage) error {
	if len(*side) == 0 {
		*side = own
		return nil
	}
	if len(own) == 0 || !sameJSON(own, *side) {
		return errors.New("has another schema of settings than the module (leave it out)")
	}
	return nil
}

// narrowTests adds the module's self-tests of the operations that side keeps.
func narrowTests(own, side *abi.Manifest) {
	stated := side.SelfTest
	for _, t := range own.SelfTest {
		_, left := side.Operations[t.Operation]
		same := func(s abi.SelfTest) bool {
			return s.Operation == t.Operation && sameJSON(s.Input, t.Input) && sameJSON(s.Output, t.Output)
		}
		if left && !slices.ContainsFunc(stated, same) {
			side.SelfTest = append(side.SelfTest, t)
		}
	}
}

func narrowLimits(own abi.LimitRequest, side *abi.LimitRequest) error {
	for _, l := range []struct {
		name string
		own  string
		side *string
		read func(string) (int64, error)
	}{
		{"timeout", own.Timeout, &side.Timeout, durationText}, {"init_timeout", own.InitTimeout, &side.InitTimeout, durationText},
		{"memory", own.Memory, &side.Memory, abi.ParseSize}, {"output", own.Output, &side.Output, abi.ParseSize},
	} {
		if err := narrowLimit("limits."+l.name, l.own, l.side, l.read); err != nil {
			return err
		}
	}
	return nil
}

// narrowLimit checks one limit. If the module states none, side must not either: the host's
// default is not known here, so no value is certain to be smaller.
func narrowLimit(name, own string, side *string, read func(string) (int64, error)) error {
	switch {
	case *side == "":
		*side = own
		return nil
	case own == "":
		return fmt.Errorf("has %s %s, the module none (state limits in the configuration of the plugin)", name, *side)
	}
	most, err := read(own)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n, err := read(*side); err != nil || n > most {
		return fmt.Errorf("has %s %s, the module %s", name, *side, own)
	}
	return nil
}

func durationText(s string) (int64, error) {
	d, err := abi.ParseDuration(s)
	return int64(d / time.Nanosecond), err
}

// within reports whether permission p asks for no more than o.
func within(p, o abi.Permission) bool {
	if p.Kind != o.Kind || p.Guest != o.Guest || p.Service != o.Service {
		return false
	}
	if p.Mode == string(ModeRW) && o.Mode != string(ModeRW) {
		return false
	}
	if p.Kind == permHTTP {
		return withinHTTP(p, o)
	}
	return quotaOf(p) <= quotaOf(o)
}

func withinHTTP(p, o abi.Permission) bool {
	asked, err := newHTTPServers(p.Hosts, p.Methods)
	own, ownErr := newHTTPServers(o.Hosts, o.Methods)
	return err == nil && ownErr == nil && own.Cover(asked)
}

// quotaOf is the quota that a kv permission asks for, in bytes, 0 for other kinds. Quotas that
// do not parse were refused before.
func quotaOf(p abi.Permission) int64 {
	if p.Kind != permKV {
		return 0
	}
	if p.Quota == "" {
		return DefaultKVQuota
	}
	n, err := abi.ParseSize(p.Quota)
	if err != nil {
		return 0
	}
	return n
}
