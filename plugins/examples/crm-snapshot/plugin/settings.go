package plugin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// idMark stands for the id of the account in a path.
const idMark = "{id}"

// Settings configure the plugin.
type Settings struct {
	// BaseURL is the scheme and the host of the CRM, and a path if the CRM is below one.
	// Default "https://crm.example.com".
	BaseURL string `json:"base_url"`
	// Path is the path of a record; {id} stands for the id of the account. Default
	// "/accounts/{id}".
	Path string `json:"path"`
	// IDKey is the key of the id in the data of the agent's state. Default
	// "account_id".
	IDKey string `json:"id_key"`
	// Heading is the line before the record.
	Heading string `json:"heading"`
	// MaxBytes is the largest size of a record in bytes. Default 8192.
	MaxBytes int `json:"max_bytes"`
	// EstimatedTokens is the estimate of the tokens of a record. Default 200.
	EstimatedTokens int `json:"estimated_tokens"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{
		BaseURL: "https://crm.example.com", Path: "/accounts/" + idMark, IDKey: "account_id",
		Heading: "The customer's account in the CRM, as of now:", MaxBytes: 8192, EstimatedTokens: 200,
	}
}

// Validate refuses settings from which no address can be made.
func (s *Settings) Validate() error {
	base, err := url.Parse(s.BaseURL)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "":
		return fmt.Errorf("base_url %q: not an address (want one such as https://crm.example.com)", s.BaseURL)
	case !strings.HasPrefix(s.Path, "/") || !strings.Contains(s.Path, idMark):
		return fmt.Errorf("path %q: not the path of a record (want one such as /accounts/%s)", s.Path, idMark)
	case s.IDKey == "":
		return errors.New("id_key: empty")
	case s.MaxBytes < 1:
		return fmt.Errorf("max_bytes %d: below 1", s.MaxBytes)
	case s.EstimatedTokens < 0:
		return fmt.Errorf("estimated_tokens %d: below 0", s.EstimatedTokens)
	}
	return nil
}
