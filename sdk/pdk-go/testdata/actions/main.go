// Command actions is a plugin for tests. Its step settings say what it does to the first
// row, so that tests reach every import and every way to fail.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

// Settings are the settings of a step.
type Settings struct {
	Do  string `json:"do"`
	Arg string `json:"arg"`
}

// Init are the settings of the plugin.
type Init struct {
	Greeting string `json:"greeting"`
}

// garbage keeps the compiler from removing the allocations.
var garbage []byte

func init() {
	setup.Handle(func(s *Init) error {
		if s.Greeting == "" {
			return errors.New("greeting is empty")
		}
		return nil
	})
	process.Handle(func(r *pdk.Request, s *Settings, c *pdk.Changes) error {
		text, err := act(r, s)
		if err == nil && text != "" {
			c.SetText(0, text)
		}
		return err
	})
}

func act(r *pdk.Request, s *Settings) (string, error) {
	switch s.Do {
	case "panic":
		panic("cannot go on with " + s.Arg)
	case "index":
		return r.Items.Text(r.Items.Len()), nil
	case "error":
		return "", pdk.Errorf("%s is wrong", s.Arg)
	case "greet":
		i, err := pdk.InitSettings[Init]()
		if err != nil {
			return "", err
		}
		return i.Greeting + " " + r.Query().Text, nil
	case "config":
		v, ok := pdk.Config(s.Arg)
		return v + " " + strconv.FormatBool(ok), nil
	case "log":
		pdk.Log(pdk.LevelTrace, s.Arg)
		pdk.Logf(pdk.LevelWarn, "%s again", s.Arg)
	case "tokens":
		n, err := pdk.CountTokens(s.Arg)
		return strconv.Itoa(n), err
	case "http":
		resp, err := pdk.HTTP(pdk.HTTPRequest{Method: "POST", URL: s.Arg, Header: map[string]string{"X-Test": "1"}, Body: []byte("ping")})
		if err != nil {
			return "", err
		}
		return strconv.Itoa(resp.Status) + " " + string(resp.Body), nil
	case "batch":
		answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{
			{Method: "POST", URL: s.Arg, Body: []byte("ping"), Timeout: 1500 * time.Microsecond}, {URL: s.Arg},
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s %s, %d %s", answers[0].Status, answers[0].Header["x"], answers[0].Body, answers[1].Status, answers[1].Error), nil
	case "embed":
		e, err := pdk.Embed(pdk.SideQuery, []string{s.Arg, ""})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(e.Model, " ", e.Dimension, " ", e.Vectors), nil
	case "search":
		hits, err := pdk.Search(pdk.SearchQuery{Text: s.Arg, Vector: []float32{1, 0.5}})
		if err != nil {
			return "", err
		}
		return hits[0].Document, nil
	case "llm":
		ask := pdk.LLMRequest{Messages: []pdk.LLMMessage{{Role: pdk.LLMUser, Content: s.Arg}}, Schema: json.RawMessage(`{"type":"object"}`)}
		answers, err := pdk.LLM(ask, ask)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s, %v", answers[0].Text, answers[0].JSON, answers[1].Err), nil
	case "garbage":
		for range 64 {
			garbage = make([]byte, 8<<10)
		}
	case "kv":
		return store(s.Arg)
	}
	return "", nil
}

func store(key string) (string, error) {
	if _, err := pdk.KVGet(key); !errors.Is(err, pdk.ErrNotFound) {
		return "", pdk.Errorf("a fresh key has a value: %w", err)
	}
	if err := pdk.KVSet(key, []byte("stored")); err != nil {
		return "", err
	}
	v, err := pdk.KVGet(key)
	if err != nil {
		return "", err
	}
	return string(v), pdk.KVDelete(key)
}

func main() {}
