package plugin

// Settings configure the plugin.
type Settings struct {
	// Threshold is the suspicion from which a text is dropped, 0 to 1. Default 0.5.
	Threshold float64 `json:"threshold"`
	// Allow are phrases that are cut out before a text is rated.
	Allow []string `json:"allow"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Threshold: 0.5} }
