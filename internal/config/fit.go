package config

import (
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// FitOptions are the options of fit and truncate.
type FitOptions struct {
	MessageOverhead *int   `key:"message_overhead" min:"0" default:"3" doc:"Tokens of a chat message beside its role and texts (exact fit)."`
	Priming         *int   `key:"priming" min:"0" default:"3" doc:"Tokens of a chat document beside its messages (exact fit)."`
	Tools           string `key:"tools" doc:"The tool schemas that are sent beside the window, as text: they are counted with it (exact fit)."`
	MinTokens       int    `key:"min_tokens" min:"1" default:"32" doc:"The least number of tokens that may be left of a text that is cut."`
}

// fit checks what decoding cannot see: the name of the model.
func (k *checker) fit() {
	c := k.config
	if c.Model == "" {
		if c.Calibration != "" {
			k.find("calibration", "calibration needs a model (say which one its figures are for)")
		}
		return
	}
	if c.Tokenizer.Name != "" || c.Tokenizer.Use != nil {
		k.find("model", "model and tokenizer exclude each other (keep one)")
	}
	switch m, err := tokens.LookupModel(c.Model); {
	case err != nil:
		k.find("model", "%v", err)
	case m.Exact() && c.Calibration != "":
		k.find("calibration", "the tokens of %s are counted exactly (leave calibration out)", c.Model)
	}
}

// setModel takes the tokenizer of a model instead of one that is named. Figures that it
// has no use for go.
func setModel(c *Config, s string) error {
	if _, err := pipeline.ModelTokenizer(s); err != nil {
		return err
	}
	c.Model, c.Tokenizer = s, Choice{}
	if m, err := tokens.LookupModel(s); err == nil && m.Exact() {
		c.Calibration = ""
	}
	return nil
}

// setTokenizer takes a tokenizer instead of that of a model, and of the figures for it.
func setTokenizer(c *Config, s string) error {
	if err := setChoice(&c.Tokenizer, s, Tokenizers); err != nil {
		return err
	}
	c.Model, c.Calibration = "", ""
	return nil
}
