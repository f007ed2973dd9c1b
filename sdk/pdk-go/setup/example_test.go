package setup_test

import (
	"fmt"
	"regexp"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

type Settings struct {
	Pattern string `json:"pattern"`
}

var pattern *regexp.Regexp

func init() {
	setup.Handle(func(s *Settings) (err error) {
		if pattern, err = regexp.Compile(s.Pattern); err != nil {
			return pdk.Errorf("settings: pattern: %w", err)
		}
		return nil
	})
}

func Example() {
	fmt.Println(pdktest.Init(Settings{Pattern: "a("}))
	fmt.Println(pdktest.Init(Settings{Pattern: "a+"}))
	s, err := pdk.InitSettings[Settings]()
	fmt.Println(pattern, s.Pattern, err)
	// Output:
	// settings: pattern: error parsing regexp: missing closing ): `a(`
	// <nil>
	// a+ a+ <nil>
}
