package config

import (
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// FitOptions are the options of fit and truncate.
type FitOptions struct {
	MessageOverhead *int   `key:"message_overhead" min:"0" default:"3" doc:"Tokens that a chat message costs in addition to its role and texts (exact fit)."`
	Priming         *int   `key:"priming" min:"0" default:"3" doc:"Tokens that a chat document costs in addition to its messages (exact fit)."`
	Tools           string `key:"tools" doc:"The tool schemas that are sent with the window, as text. Their tokens are counted (exact fit)."`
	MinTokens       int    `key:"min_tokens" min:"1" default:"32" doc:"The minimum number of tokens that a cut text keeps."`
}

// fit checks the model and its calibration.
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

// setModel sets the model, and removes a named tokenizer and a calibration that the model cannot
// use.
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

// setTokenizer sets the tokenizer, and removes the model and its calibration.
func setTokenizer(c *Config, s string) error {
	if err := setChoice(&c.Tokenizer, s, Tokenizers); err != nil {
		return err
	}
	c.Model, c.Calibration = "", ""
	return nil
}
