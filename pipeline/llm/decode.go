package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxParts is how many parts of an answer are read.
	maxParts = 1000
	// maxCounted bounds what a server says of tokens, so that sums of it stay numbers.
	maxCounted = 1 << 30
)

var errTwice = errors.New("a list is there twice")

// counted is a number of tokens that a server stated.
func counted(n int) int { return min(max(n, 0), maxCounted) }

// each decodes the elements of a list one by one until read says that it has enough, so that a
// server that sends millions of them takes no memory for those that nobody reads.
func each(text []byte, read func(d *json.Decoder) (enough bool, err error)) error {
	d := json.NewDecoder(bytes.NewReader(text))
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t == nil: // null
		return nil
	case t != json.Delim('['):
		return errors.New("want a list")
	}
	for d.More() {
		if enough, err := read(d); enough || err != nil {
			return err
		}
	}
	return nil
}

// choice is one of the answers to choose from.
type choice struct {
	Message struct {
		Content string `json:"content"`
		Refusal string `json:"refusal"`
	} `json:"message"`
	Finish string `json:"finish_reason"`
}

// choices is the first choice of a list, if it has one.
type choices struct {
	choice
	there bool
}

func (c *choices) UnmarshalJSON(text []byte) error {
	if c.there {
		return errTwice
	}
	return each(text, func(d *json.Decoder) (bool, error) {
		c.there = true
		return true, d.Decode(&c.choice)
	})
}

// content is what the parts of an answer say.
type content struct {
	there bool
	text  string
	// used says that a tool is used, input is that of the first.
	used  bool
	input json.RawMessage
}

func (c *content) UnmarshalJSON(text []byte) error {
	if c.there {
		return errTwice
	}
	c.there = true
	var said strings.Builder
	parts := 0
	err := each(text, func(d *json.Decoder) (bool, error) {
		var part struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			Input json.RawMessage `json:"input"`
		}
		if parts++; parts > maxParts {
			return true, fmt.Errorf("content has more than %d parts", maxParts)
		}
		err := d.Decode(&part)
		switch {
		case part.Type == "text":
			said.WriteString(part.Text)
		case part.Type == "tool_use" && !c.used:
			c.used, c.input = true, part.Input
		}
		return false, err
	})
	c.text = said.String()
	return err
}
