package apiclient

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Header returns the headers that an operator states, and what of them no error may show: each
// value, and what follows the first space in it, as in "Bearer KEY". An error shows no value.
func Header(stated map[string]string) (h http.Header, secrets []string, err error) {
	h = http.Header{}
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		value := stated[name]
		if err := CheckValue(value); err != nil {
			return nil, nil, fmt.Errorf("header %.40q: %w", name, err)
		}
		h.Set(name, value)
		_, credentials, _ := strings.Cut(value, " ")
		secrets = append(secrets, value, credentials)
	}
	return h, secrets, nil
}

// CheckValue refuses a key or the value of a header that cannot be sent. The error does not show it.
func CheckValue(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("has a line break or another control character")
	}
	return nil
}
