package classify_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

type Settings struct {
	CodeWords []string `json:"code_words"`
}

func init() {
	classify.Handle(func(q *pdk.Query, s *Settings) (string, error) {
		for _, word := range s.CodeWords {
			if strings.Contains(q.Text, word) {
				return "code", nil
			}
		}
		return "prose", nil
	})
}

func Example() {
	for _, text := range []string{"panic: nil map", "who wrote this"} {
		reply, err := pdktest.Document[abi.ClassifyReply](abi.OpClassify, abi.QueryRequest{
			Query:    abi.Query{Text: text},
			Settings: json.RawMessage(`{"code_words": ["panic", "func"]}`),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(text, "->", reply.Label)
	}
	// Output:
	// panic: nil map -> code
	// who wrote this -> prose
}
