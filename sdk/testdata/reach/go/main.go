// Command reach uses everything that the host offers, and reads columns that its manifest does
// not name.
package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

type settings struct {
	URL string `json:"url"`
}

func init() {
	classify.Handle(label)
	filter.Each(keep)
	rerank.Scores(rate)
}

func label(q *pdk.Query, s *settings) (string, error) {
	if s.URL == "" {
		return served(q.Text)
	}
	binary := []byte{0, 0xff, 0x7a}
	one, err := pdk.HTTP(pdk.HTTPRequest{Method: "POST", URL: s.URL + "/echo", Header: map[string]string{"X-Word": "wörd"}, Body: binary})
	if err != nil {
		return "", err
	}
	if !bytes.Equal(one.Body, binary) {
		return "", pdk.Errorf("bytes %v", one.Body)
	}
	never := pdk.HTTPRequest{URL: s.URL + "/never", Timeout: 50 * time.Millisecond}
	late, err := pdk.HTTP(never)
	if err == nil {
		return "", pdk.Errorf("status %d of no answer", late.Status)
	}
	answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{{Method: "POST", URL: s.URL + "/echo", Body: []byte(`{"n":1}`), Timeout: time.Minute}, never})
	if err != nil {
		return "", err
	}
	if _, err := pdk.KVGet("k"); err == nil {
		return "", pdk.Errorf("the store has a value")
	}
	if err := pdk.KVSet("k", []byte("stored")); err != nil {
		return "", err
	}
	stored, err := pdk.KVGet("k")
	if err != nil {
		return "", err
	}
	if err := pdk.KVDelete("k"); err != nil {
		return "", err
	}
	n, err := pdk.CountTokens(q.Text)
	number := strings.Trim(string(answers[0].Body), `{"n:}`)
	return fmt.Sprintf("%d %s 0 %d %s %d %s %s %d", one.Status, one.Header["x-word"], answers[0].Status, number, answers[1].Status, answers[1].Error, stored, n), err
}

func keep(it pdk.Item, _ *settings) bool {
	_, drop := it.MetaString("drop")
	return !drop && it.Source() != "tool" && it.Embedding() == nil && it.Text() != ""
}

func main() {}
