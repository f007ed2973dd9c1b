// Command counting is a guest that keeps state of all kinds between calls and reports the
// state that it finds from earlier calls. On request it ends a call in the middle of its
// work.
package main

import (
	crand "crypto/rand"
	"encoding/json"
	"math/rand"
	"os"
	"time"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

type initSettings struct {
	Index int    `json:"index"` // size of the index in KiB
	Open  string `json:"open"`  // file to leave open
	Clock string `json:"clock"` // clock to look at: wall or stopwatch
	Token string `json:"token"` // secret to keep
	Login struct {
		Password string `json:"password"` // another one
	} `json:"login"`
}

type stepSettings struct {
	Mode  string `json:"mode"`
	Pages int    `json:"pages"`
}

// answer is the state that a call finds, including the call itself.
type answer struct {
	Calls   int            `json:"calls"`
	Inits   int            `json:"inits"`
	Seen    map[string]int `json:"seen"`
	Index   int            `json:"index"`
	Decoded any            `json:"decoded"`
	Random  int            `json:"random,omitempty"`
	Secret  []byte         `json:"secret,omitempty"`
	Now     int64          `json:"now,omitempty"`
}

var (
	calls, inits int
	seen         = map[string]int{}
	index        map[int]string
	decoded      any
	kept         [][]byte
	file         *os.File
	busy         = make(chan int, 8)
	secrets      string
	started      time.Time
)

func init() {
	setup.Handle(func(s *initSettings) error {
		inits++
		pdk.Logf(pdk.LevelInfo, "init %d", inits)
		index = map[int]string{}
		for i := range s.Index {
			index[i] = string(make([]byte, 1<<10))
		}
		secrets = s.Token + s.Login.Password
		switch s.Clock {
		case "wall":
			started = time.Now()
		case "stopwatch":
			time.Sleep(time.Millisecond)
		}
		if s.Open == "" {
			return nil
		}
		var err error
		file, err = os.Open(s.Open)
		return err
	})
	retrieve.Handle(find)
	filter.Handle(func(r *pdk.Request, _ *stepSettings) ([]uint32, error) {
		calls++
		var keep []uint32
		for i, s := range r.Items.Scores() {
			if s >= 0.5 {
				keep = append(keep, uint32(i))
			}
		}
		return keep, nil
	})
}

func find(r *pdk.Request, s *stepSettings) ([]pdk.NewItem, error) {
	calls++
	seen[r.Query().Text]++
	for range s.Pages {
		kept = append(kept, make([]byte, 64<<10))
	}
	if err := json.Unmarshal([]byte(`{"calls": [1, 2.5, "three", {"four": null}]}`), &decoded); err != nil {
		return nil, err
	}
	a := answer{Calls: calls, Inits: inits, Seen: seen, Index: len(index), Decoded: decoded}
	switch s.Mode {
	case "spin":
		go func() { busy <- calls }()
		for i := 0; ; i++ {
			seen[string(rune('a'+i%26))+string(make([]byte, i%100))]++
			kept = append(kept[:min(len(kept), 50)], make([]byte, i%5000))
		}
	case "trap":
		select {}
	case "exit":
		os.Exit(4)
	case "open":
		var err error
		if file, err = os.Open("/docs/a.txt"); err != nil {
			return nil, err
		}
	case "fate":
		a.Random, a.Secret, a.Now = rand.Int(), make([]byte, 8), time.Now().UnixNano()
		if _, err := crand.Read(a.Secret); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(a)
	return []pdk.NewItem{{Key: "answer", Content: string(b), Score: 1}}, err
}

func main() {}
