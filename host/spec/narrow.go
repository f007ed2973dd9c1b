package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/units"
)

// modeRW is the mode of a permission for files to write to them.
const modeRW = "rw"

// narrow turns side, the plugin.yaml beside a module, into the manifest that applies. It
// checks that side asks for no more than own, the manifest in the module. It copies limits,
// schemas of settings, defaults of steps and self-tests from own where side states none.
// Operations and permissions that side does not state are gone.
func narrow(own, side *manifest.Manifest) error {
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
		if extra := narrowParts(side.Parts(op), own.Parts(op), &s); len(extra) > 0 {
			return fmt.Errorf("operation %q reads %s, which the module does not ask for", op, strings.Join(extra, ","))
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
		if !slices.ContainsFunc(own.Permissions, func(o manifest.Permission) bool { return within(p, o) }) {
			return fmt.Errorf("permission %q is not the module's", p.Kind)
		}
	}
	if err := narrowSchema(own.Settings, &side.Settings); err != nil {
		return err
	}
	side.Deprecated = cmp.Or(side.Deprecated, own.Deprecated)
	narrowTests(own, side)
	return narrowLimits(own.Limits, &side.Limits)
}

// narrowParts returns the parts of a request that side reads and own does not. If side is the
// whole request, it reads what own does, and spec says so.
func narrowParts(side, own abi.PartSet, spec *manifest.OperationSpec) (extra []string) {
	if side.Whole() && !own.Whole() {
		spec.Reads = slices.Concat(spec.Reads, own.Names())
		return nil
	}
	return slices.DeleteFunc(side.Names(), func(name string) bool { return own.Has(abi.Part(name)) || abi.Part(name) == abi.PartNone })
}

func narrowOperation(own manifest.OperationSpec, side *manifest.OperationSpec) error {
	if own.MaxPriority > 0 && (side.MaxPriority > own.MaxPriority || side.MaxPriority == 0) {
		return fmt.Errorf("has max_priority %d, the module %d", side.MaxPriority, own.MaxPriority)
	}
	if side.Timeless && !own.Timeless {
		return errors.New("is timeless, which the module does not promise")
	}
	if side.Tool != own.Tool && side.Tool != "" {
		return errors.New("is another tool than the module's")
	}
	if err := narrowSchema(own.Settings, &side.Settings); err != nil {
		return err
	}
	o, d := own.Defaults, &side.Defaults
	d.Priority, d.TopK = cmp.Or(d.Priority, o.Priority), cmp.Or(d.TopK, o.TopK)
	d.OnError = cmp.Or(d.OnError, o.OnError)
	if most := cmp.Or(o.TopK, DefaultTopK); d.TopK > most {
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
func narrowTests(own, side *manifest.Manifest) {
	stated := side.SelfTest
	for _, t := range own.SelfTest {
		_, left := side.Operations[t.Operation]
		same := func(s manifest.SelfTest) bool {
			return s.Operation == t.Operation && sameJSON(s.Input, t.Input) && sameJSON(s.Output, t.Output)
		}
		if left && !slices.ContainsFunc(stated, same) {
			side.SelfTest = append(side.SelfTest, t)
		}
	}
}

// limit is one limit that a manifest can ask for. read returns its value.
type limit struct {
	name string
	text *string
	read func(string) (int64, error)
}

func limitsOf(r *manifest.LimitRequest) []limit {
	return []limit{
		{"limits.timeout", &r.Timeout, durationText}, {"limits.init_timeout", &r.InitTimeout, durationText},
		{"limits.memory", &r.Memory, units.ParseSize}, {"limits.output", &r.Output, units.ParseSize},
	}
}

// checkLimits checks that the limits that a manifest asks for can be read.
func checkLimits(r manifest.LimitRequest) error {
	for _, l := range limitsOf(&r) {
		if *l.text == "" {
			continue
		}
		if _, err := l.read(*l.text); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func narrowLimits(own manifest.LimitRequest, side *manifest.LimitRequest) error {
	most := limitsOf(&own)
	for i, l := range limitsOf(side) {
		if err := narrowLimit(l.name, *most[i].text, l.text, l.read); err != nil {
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
	d, err := units.ParseDuration(s)
	return int64(d / time.Nanosecond), err
}

// within reports whether permission p asks for no more than o.
func within(p, o manifest.Permission) bool {
	if p.Kind != o.Kind || p.Guest != o.Guest || p.Service != o.Service {
		return false
	}
	if p.Mode == modeRW && o.Mode != modeRW {
		return false
	}
	if p.Kind == manifest.PermissionHTTP {
		return withinHTTP(p, o)
	}
	return KVQuota(p) <= KVQuota(o)
}

// withinHTTP is within for http.
func withinHTTP(p, o manifest.Permission) bool {
	if !o.Hosts.FromGrant() && !withinHosts(p.Hosts, o.Hosts) {
		return false
	}
	methods := httpMethods(o)
	return !slices.ContainsFunc(httpMethods(p), func(m string) bool { return !slices.Contains(methods, m) })
}

// withinHosts reports whether own, which is a list, has every server of asked.
func withinHosts(asked, own manifest.HostList) bool {
	few, err := hostPatterns(asked)
	many, ownErr := hostPatterns(own)
	if err != nil || ownErr != nil || asked.FromGrant() {
		return false
	}
	return !slices.ContainsFunc(few, func(h manifest.HostPattern) bool {
		return !slices.ContainsFunc(many, func(o manifest.HostPattern) bool { return o.Covers(h) })
	})
}

func hostPatterns(hosts []string) ([]manifest.HostPattern, error) {
	patterns := make([]manifest.HostPattern, len(hosts))
	for i, h := range hosts {
		var err error
		if patterns[i], err = manifest.ParseHostPattern(h); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// httpMethods are the methods that a permission asks for.
func httpMethods(p manifest.Permission) []string {
	if len(p.Methods) == 0 {
		return []string{http.MethodGet, http.MethodHead}
	}
	return p.Methods
}

// KVQuota is the quota that a kv permission asks for, in bytes, 0 for other kinds. Quotas that
// do not parse were refused before.
func KVQuota(p manifest.Permission) int64 {
	if p.Kind != manifest.PermissionKV {
		return 0
	}
	if p.Quota == "" {
		return DefaultKVQuota
	}
	n, err := units.ParseSize(p.Quota)
	if err != nil {
		return 0
	}
	return n
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
