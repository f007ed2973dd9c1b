package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// ServiceCall is a request that a plugin is expected to send to a service, and the answer that it
// gets.
type ServiceCall struct {
	// Service is embed, search or llm.
	Service string `json:"service"`
	// Request has members of the request document of the contract; for llm it is one of the
	// requests. Absent members are not compared. In texts *** stands for any characters. A
	// vector is a list of numbers, not a handle.
	Request json.RawMessage `json:"request,omitempty"`
	// Answer is the answer document, with vectors as one list of numbers; for llm it is one of
	// the responses.
	Answer json.RawMessage `json:"answer"`
}

// servicesOfCalls are the services that calls can name.
var servicesOfCalls = []string{manifest.ServiceEmbed, manifest.ServiceSearch, manifest.ServiceLLM}

func checkServiceCalls(list []ServiceCall) error {
	for i, c := range list {
		var request, answer map[string]any
		switch {
		case !slices.Contains(servicesOfCalls, c.Service):
			return fmt.Errorf("services[%d]: service %.100q (want one of %s)", i, c.Service, strings.Join(servicesOfCalls, ", "))
		case len(c.Request) > 0 && json.Unmarshal(c.Request, &request) != nil:
			return fmt.Errorf("services[%d].request: is no object", i)
		case json.Unmarshal(c.Answer, &answer) != nil:
			return fmt.Errorf("services[%d].answer: is no object", i)
		}
	}
	return nil
}

// matches reports whether a request is the expected one.
func (c *ServiceCall) matches(service string, request []byte) bool {
	if c.Service != service {
		return false
	}
	var want, got map[string]any
	if json.Unmarshal(request, &got) != nil || len(c.Request) > 0 && json.Unmarshal(c.Request, &want) != nil {
		return false
	}
	for name, value := range want {
		if !likeValue(value, got[name]) {
			return false
		}
	}
	return true
}

// serviceCalls are the calls of a case, and which of them were made. Replay guards them.
type serviceCalls struct {
	list     []ServiceCall
	used     []bool
	unlisted []string
}

// Serve returns the answer that the case states for a request to a service, nil if it states none.
// states reports whether the case states any. Where several calls of a case fit, each answers
// once, and the last one also what follows.
func (r *Replay) Serve(service string, request []byte) (answer json.RawMessage, states bool) {
	if r == nil || r.services == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, found := r.services, -1
	for i := range s.list {
		if !s.list[i].matches(service, request) {
			continue
		}
		if found = i; !s.used[i] {
			break
		}
	}
	if found < 0 {
		if text := fmt.Sprintf("%s %.300s", service, request); len(s.unlisted) < maxUnlisted && !slices.Contains(s.unlisted, text) {
			s.unlisted = append(s.unlisted, text)
		}
		return nil, true
	}
	s.used[found] = true
	return s.list[found].Answer, true
}

// Unlisted returns the first requests to services that the case answers none of, such as
// "llm {…}".
func (r *Replay) Unlisted() []string {
	if r == nil || r.services == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.services.unlisted)
}

// problem says what a case expected of services and the guest did not do, "" for nothing.
func (r *Replay) problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch s := r.services; {
	case s == nil:
	case len(s.unlisted) > 0:
		return fmt.Sprintf("asked %s, which the case does not list in services", strings.Join(s.unlisted, ", "))
	default:
		if i := slices.Index(s.used, false); i >= 0 {
			return fmt.Sprintf("did not ask %s %.300s, which the case expects (services[%d])", s.list[i].Service, s.list[i].Request, i)
		}
	}
	return ""
}
