package plugin

import (
	"strings"
	"testing"
)

func settings() *Settings {
	s := new(Settings)
	s.Defaults()
	return s
}

func TestAddress(t *testing.T) {
	s := settings()
	if got := s.Address(" a b&c=d "); got != "http://localhost:8888/search?format=json&q=a+b%26c%3Dd" {
		t.Error(got)
	}
	s.URL, s.Language = "https://s.example/search?safesearch=1", "de"
	if got := s.Address("ü"); got != "https://s.example/search?safesearch=1&format=json&language=de&q=%C3%BC" {
		t.Error(got)
	}
	if got := s.Address(" \n"); got != "" {
		t.Error(got)
	}
}

const found = `{"query": "q", "results": [
	{"url": "https://a.example", "title": "A", "content": "an excerpt that is long enough", "score": 2.0, "engine": "one"},
	{"url": "https://a.example", "title": "A again", "content": "an excerpt that is long enough", "score": 1.9},
	{"url": "https://b.example", "title": "B", "content": "short"},
	{"url": "https://c.example", "title": "C", "content": "another excerpt of some length", "score": 0.5},
	{"url": "https://d.example", "title": "D", "content": "a third excerpt of some length", "score": -1}]}`

func TestItems(t *testing.T) {
	items, err := settings().Items(200, []byte(found), 10)
	if err != nil || len(items) != 3 {
		t.Fatal(items, err)
	}
	if it := items[0]; it.Content != "A\nan excerpt that is long enough" || it.Score != 1 || it.Metadata["url"] != "https://a.example" || it.Metadata["engine"] != "one" {
		t.Errorf("%+v", it)
	}
	if items[1].Score != 0.25 || items[2].Score != 0 {
		t.Errorf("scores %v, %v", items[1].Score, items[2].Score)
	}
	if items, _ := settings().Items(200, []byte(found), 1); len(items) != 1 {
		t.Error("more than asked for:", len(items))
	}
	unrated := strings.NewReplacer(`, "score": 2.0`, "", `, "score": 1.9`, "", `, "score": 0.5`, "", `, "score": -1`, "").Replace(found)
	if items, _ := settings().Items(200, []byte(unrated), 10); len(items) != 3 || items[1].Score != 0.5 {
		t.Errorf("%+v", items)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for body, want := range map[string]string{"<html>": "not the JSON", `{"results": 7}`: "not the JSON", `[]`: "not the JSON", ``: "not the JSON"} {
		if _, err := settings().Items(200, []byte(body), 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, status := range []int{403, 429, 500} {
		if _, err := settings().Items(status, nil, 5); err == nil {
			t.Errorf("status %d is accepted", status)
		}
	}
	if items, err := settings().Items(200, []byte(`{"results": []}`), 5); err != nil || items != nil {
		t.Error(items, err)
	}
}
