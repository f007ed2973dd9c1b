package config

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// headerName matches names of headers.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are set by the client itself.
var ownHeaders = []string{"accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding", "upgrade"}

// embedders checks the embedders, and the collections that use them.
func (k *checker) embedders() {
	for _, name := range slices.Sorted(maps.Keys(k.config.Embedders)) {
		e, path := k.config.Embedders[name], strict.Join("embedders", name)
		switch {
		case name == BuiltinEmbedder:
			k.find(path, "builtin is the embedder of the program (choose another name)")
		case name == NoEmbedder:
			k.find(path, "none stands for no embedder (choose another name)")
		case !one(e.Static != nil, e.HTTP != nil, e.Use != ""):
			k.find(path, "want static, http or use, one of them")
		case e.Use == "" && len(e.Settings) > 0:
			k.find(path+".settings", "settings are those of use (leave them out)")
		case e.Use != "":
		case e.HTTP != nil:
			k.server(path+".http", e.HTTP)
		case e.Static.Table == "" || e.Static.Tokenizer == "":
			k.find(path+".static", "table and tokenizer must not be empty")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.config.Collections)) {
		path := strict.Join("collections", name)
		if err := (retrieve.Collection{Tenant: k.config.TenantName(), Name: name}).Validate(); err != nil {
			k.find(path, "%v", err)
		}
		k.shared(path, name)
		if u := k.config.Collections[name].Context; u != nil {
			k.use(path+".context", u.Use(), nil)
		}
		if used := k.config.Collections[name].Embedder; used != "" && used != NoEmbedder {
			missing(k, path+".embedder", "embedder", used, k.config.AllEmbedders())
		}
	}
}

// one reports whether one of several is true, and no other.
func one(of ...bool) bool {
	first := slices.Index(of, true)
	return first >= 0 && !slices.Contains(of[first+1:], true)
}

// shared checks who reads a collection, and who owns it.
func (k *checker) shared(path, name string) {
	of := k.config.Collections[name]
	for i, tenant := range of.Shared {
		if err := CheckName(tenant); err != nil {
			k.find(fmt.Sprintf("%s.shared[%d]", path, i), "%v", err)
		}
	}
	switch {
	case of.Owner == "":
	case len(of.Shared) == 0:
		k.find(path+".owner", "a collection that is not shared belongs to each tenant that makes it (leave owner out, or say who reads it: shared)")
	case CheckName(of.Owner) != nil:
		k.find(path+".owner", "%v", CheckName(of.Owner))
	}
}

// server checks the address and the headers of a server.
func (k *checker) server(path string, h *HTTPEmbedder) {
	u, err := url.Parse(h.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		k.find(path+".base_url", "want an address such as https://api.openai.com/v1")
	case u.User != nil:
		k.find(path+".base_url", "the address has a name or password (write the password as key, or in headers)")
	case u.Fragment != "":
		k.find(path+".base_url", "the address has a fragment (leave out what follows #)")
	}
	if h.Model == "" {
		k.find(path+".model", "the name is empty")
	}
	k.headers(path, h.Key, h.Headers, "Authorization")
}

// headers checks the headers of a server. ofKey is the one that has the key.
func (k *checker) headers(path string, key Text, headers map[string]Text, ofKey string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at, lower := strict.Join(path+".headers", name), strings.ToLower(name)
		switch {
		case !headerName.MatchString(name):
			k.find(at, "is no name of a header")
		case slices.Contains(ownHeaders, lower):
			k.find(at, "anchor-host sets this header itself (leave it out)")
		case strings.EqualFold(name, ofKey) && key != (Text{}):
			k.find(at, "key and the header %s exclude each other (keep one)", ofKey)
		case headers[name].String() == "":
			k.find(at, "has no value")
		case seen[lower]:
			k.find(at, "the header is there twice")
		}
		seen[lower] = true
	}
}
