package conformance

import "context"

// OwnCase is a case of the plugin's author.
type OwnCase struct {
	Name string `json:"name"`
}

func (s *session) own(_ context.Context, _ Guest) {}
