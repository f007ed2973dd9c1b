package guest

import (
	"maps"

	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
)

// Image is the state of a plugin after its init: everything of an instance except its code.
// Instances start from it without running init, and are reset to it after their calls. It does
// not change.
type Image struct {
	partImage
	// members are the images of the links.
	members []*partImage
	mailbox uint32
	hasBox  bool
	vars    vars
	sources *wasi.Sources
}

// ImageOf is the image that a store kept. It takes over the memory of kept.
func ImageOf(kept *imagestore.Image) *Image {
	im := &Image{partImage: partImage{memory: kept.Memory, globals: kept.Globals, vectors: kept.Vectors},
		mailbox: kept.Mailbox, hasBox: kept.HasBox, vars: vars{values: kept.Vars}}
	for k := range kept.Vars {
		im.vars.bytes += im.vars.size(k)
	}
	return im
}

// Kept is the image as a store keeps it, nil for a guest without a memory. The images of links
// and of clocks are not part of it. It must not be changed.
func (im *Image) Kept() *imagestore.Image {
	if im.memory == nil {
		return nil
	}
	return &imagestore.Image{Memory: im.memory, Globals: im.globals, Vectors: im.vectors,
		Mailbox: im.mailbox, HasBox: im.hasBox, Vars: im.vars.values}
}

// Held is how much memory the image takes, in bytes.
func (im *Image) Held() int64 {
	n := im.held()
	for _, m := range im.members {
		n += m.held()
	}
	return n
}

// Free gives up the memory of the image.
func (im *Image) Free() {
	im.free()
	for _, m := range im.members {
		m.free()
	}
}

// varQuota bounds the Extism variables of one instance, in bytes, as other Extism hosts do.
const varQuota = 1 << 20

// vars are the Extism variables of one instance. bytes counts their names and values
// against varQuota.
type vars struct {
	values map[string][]byte
	bytes  int
}

// clone copies the map of variables. The values are shared, because they are never changed in
// place.
func (v vars) clone() vars { return vars{maps.Clone(v.values), v.bytes} }

// size is how many bytes a variable takes of the quota, 0 if there is none of that name.
func (v *vars) size(key string) int {
	value, ok := v.values[key]
	if !ok {
		return 0
	}
	return len(key) + len(value)
}
