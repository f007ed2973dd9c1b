package manifest

import (
	"encoding/json"
	"strings"
)

// FromGrant takes the place of a list of hosts, and leaves the choice to the operator.
const FromGrant = "from_grant"

// HostList are the hosts that a permission asks for. A list that is empty and not nil leaves
// the choice to the operator.
type HostList []string

// FromGrant reports whether the hosts are those that the operator grants.
func (h HostList) FromGrant() bool { return h != nil && len(h) == 0 }

// String returns the hosts with commas between them, or "from_grant".
func (h HostList) String() string {
	if h.FromGrant() {
		return FromGrant
	}
	return strings.Join(h, ",")
}

// MarshalJSON implements json.Marshaler.
func (h HostList) MarshalJSON() ([]byte, error) {
	if h.FromGrant() {
		return json.Marshal(FromGrant)
	}
	return json.Marshal([]string(h))
}
