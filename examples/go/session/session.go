// Package session is a session of an agent: anchor-host prepares each body of a request for the model.
package session

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// New begins a session of bodies of type B, the parameters of an SDK. The function that it returns prepares a body,
// which has all messages, so that it has at most maxTokens tokens.
func New[B any](maxTokens int) func(B) (B, error) {
	service := cmp.Or(os.Getenv("ANCHOR_URL"), "http://127.0.0.1:8790")
	url := fmt.Sprintf("%s/v1/assemble?run=%s&max_tokens=%d", service, rand.Text(), maxTokens)
	return func(body B) (B, error) {
		var answer struct{ Body B }
		data, err := json.Marshal(body)
		if err != nil {
			return body, err
		}
		resp, err := http.Post(url, "application/json", bytes.NewReader(data))
		if err != nil {
			return body, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("assemble: %s: %s", resp.Status, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		return answer.Body, err
	}
}

// ReadLog returns a page of the server's log. input is {"page": number}.
func ReadLog(input string) (string, error) {
	var in struct{ Page int }
	err := json.Unmarshal([]byte(input), &in)
	var b strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&b, "page %d, line %d: GET /item/%d 200\n", in.Page, n, n*n)
	}
	return b.String(), err
}
