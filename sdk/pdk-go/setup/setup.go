// Package setup runs code once, before the first call: the place to check
// settings and to build an index. Importing it makes the export anchor_init
// appear.
//
//	type Settings struct {
//		Folder string `json:"folder"`
//	}
//
//	func init() {
//		setup.Handle(func(s *Settings) error {
//			files, err := os.ReadDir(s.Folder)
//			if err != nil {
//				return pdk.Errorf("read %s: %w", s.Folder, err)
//			}
//			return index.Build(s.Folder, files)
//		})
//	}
//
// What it leaves in package variables is there in every call. A plugin that
// only wants [pdk.InitSettings] imports the package for its side effect.
package setup

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

var lane = serve.NewDocument(abi.OpInit)

func init() {
	lane.Export(onJSON)
	lane.Default(keep)
}

// Handle registers f, which receives the settings the plugin was configured
// with. An error keeps the plugin from being used, and the operator reads why.
func Handle[S any](f func(s *S) error) {
	lane.Handle(func(in []byte) (any, error) {
		if _, err := keep(in); err != nil {
			return nil, err
		}
		s, err := settings.Init[S]()
		if err != nil {
			return nil, err
		}
		return nil, f(s)
	})
}

// keep stores the settings for InitSettings.
func keep(in []byte) (any, error) {
	var req abi.InitRequest
	if len(in) > 0 {
		if err := json.Unmarshal(in, &req); err != nil {
			return nil, pdk.Errorf("init: decode request: %w", err)
		}
	}
	settings.SetInit(req.Settings)
	return nil, nil
}

//go:wasmexport anchor_init
func onJSON() int32 { return lane.JSON() }
