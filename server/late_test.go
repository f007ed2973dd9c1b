package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The end of a request whose body came whole does not end the next one on its connection.
func TestLateRequestsLeaveTheNextAlone(t *testing.T) {
	t.Parallel()
	l := start(t, "counting: {tokenizer: words}\n", Options{Unwatched: true})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	post := func(timeout time.Duration, body string) (int, string) {
		t.Helper()
		r, err := client.Post(fmt.Sprintf("http://%s/v1/builds?timeout=%v", l.data, timeout), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		answer, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(answer)
	}
	large := `{"query": [` + strings.Repeat("1,", 100_000) + "1]}"
	late := 0
	for i := range 300 {
		status, _ := post(time.Duration(i%30+1)*50*time.Microsecond, large)
		if status == http.StatusGatewayTimeout {
			late++
		}
		if status, answer := post(time.Minute, "{}"); status != http.StatusUnprocessableEntity {
			t.Fatalf("after %d: status %d: %s", i, status, answer)
		}
	}
	if late == 0 {
		t.Error("no request was late")
	}
}
