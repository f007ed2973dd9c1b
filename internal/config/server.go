package config

import (
	"cmp"
	"net"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Server says where serve listens, how much a client may take, and how the service ends.
type Server struct {
	Listen         string   `key:"listen" default:"127.0.0.1:8790" doc:"Address of the API."`
	AdminListen    string   `key:"admin_listen" default:"127.0.0.1:8791" doc:"Address of health, configuration, reload and profiles; none has no such listener."`
	TLS            TLS      `key:"tls" doc:"Certificate of the API. The admin listener has none."`
	Keys           string   `key:"keys" doc:"File of the API keys, which anchor-host keys makes. Without it, requests need no key, and serve listens on loopback addresses only. It is read again when it changes."`
	Queue          Queue    `key:"queue" doc:"Bounds of the builds that run and wait."`
	Jobs           Jobs     `key:"jobs" doc:"Work in the background: documents, vectors, evaluations and lists of builds."`
	Audit          Audit    `key:"audit" doc:"A log of who did what."`
	MaxBody        Size     `key:"max_body" default:"64MiB" doc:"The maximum size of a request after decompression."`
	MaxUpload      Size     `key:"max_upload" default:"64MiB" doc:"The maximum size of the documents of one upload into a collection, after decompression. They are on the disk, beside the store, until they are read. All uploads together take four times as much at most, of which one tenant has half."`
	MaxBodies      Size     `key:"max_bodies" doc:"The maximum size of all requests that are in memory at the same time, and of all answers that wait for their clients. One tenant has half of it at most. Further ones are refused with status 503. At least twice max_body. Default: 256MiB, or twice max_body if that is more."`
	MaxValues      int      `key:"max_values" min:"1" default:"200000" doc:"The maximum number of values of a request: texts, numbers, lists and maps. One takes up to 250 bytes of memory, however short it is, which counts as bytes do in max_bodies. Requests with more are refused with status 413."`
	MaxConnections int      `key:"max_connections" min:"1" default:"4096" doc:"The maximum number of connections of the API, and of requests on them, of which one tenant has half at most. Further connections take the place of those that wait longest: first of those without a valid key."`
	PerAddress     int      `key:"max_connections_per_address" min:"1" doc:"The maximum number of connections of one address, in IPv6 of a network of 64 bits. The default is a quarter of max_connections. Behind a proxy, set it to max_connections."`
	MaxTimeout     Duration `key:"max_timeout" default:"2m" doc:"How long a request may take. A client can ask for less."`
	HeaderTimeout  Duration `key:"header_timeout" default:"10s" doc:"How long a client may take to send a header, and how long a connection without a valid key stays open without a request."`
	Compress       string   `key:"compress" enum:"auto,always,never" default:"auto" doc:"Which answers are compressed (zstd or gzip), if the client accepts it and the answer has 1,400 bytes or more. auto: those to clients outside of loopback and private networks, where sending takes longer than compressing."`
	ClientTimeout  Duration `key:"client_timeout" default:"30s" doc:"How long a client may take to send a body, and to accept 64 KiB of an answer. An answer must be accepted this long after the deadline of its request at the latest."`
	MinRate        Size     `key:"min_rate" default:"16KiB" doc:"How much of a body must come in a second, over 5 seconds. A slower one is refused with status 408."`
	IdleTimeout    Duration `key:"idle_timeout" default:"2m" doc:"How long a connection without a request stays open."`
	DrainDelay     Span     `key:"drain_delay" default:"5s" doc:"How long the service, when it ends, still accepts requests while /readyz says draining, so that load balancers notice; none does not wait."`
	DrainTimeout   Duration `key:"drain_timeout" default:"30s" doc:"How long running requests may then take to finish. After that they are cancelled."`
	Follow         bool     `key:"follow" doc:"Take the configuration and the keys from the store, as anchor-host rollout and keys put them there for all hosts. Only server and store are those of this file, and until the first rollout everything."`
	FollowDir      string   `key:"follow_dir" doc:"Folder of this host alone, in which it keeps what it has followed last, for a start without the store. Default: one in the cache folder of the user, for this file and listen."`
	Watch          *bool    `key:"watch" default:"true" doc:"Load the configuration again when its file, anchor.lock, the prices or a plugin changes."`
}

// TLS is a certificate with its key.
type TLS struct {
	Cert     string `key:"cert" doc:"File of the certificate and its chain, in PEM. It is read again when it changes."`
	Key      string `key:"key" doc:"File of the private key, in PEM."`
	ClientCA string `key:"client_ca" doc:"File of the authorities whose certificates clients must have, in PEM. Without it, clients need none."`
}

// NoListener is the address that means that there is no listener.
const NoListener = "none"

// serverDefaults are those of the tags.
var serverDefaults = sync.OnceValue(func() (s Server) { strict.Defaults(&s); return s })

// WithDefaults returns the settings with the defaults of the documentation in place of those that
// are not set.
func (s Server) WithDefaults() Server {
	d := serverDefaults()
	strict.Overlay(&d, &s)
	d.MaxBodies = cmp.Or(d.MaxBodies, max(256<<20, 2*d.MaxBody))
	d.PerAddress = cmp.Or(d.PerAddress, max(1, d.MaxConnections/4))
	return d
}

// service checks the settings of the server.
func (k *checker) service() {
	s := &k.config.Server
	for _, a := range []struct{ path, address string }{{"listen", s.Listen}, {"admin_listen", s.AdminListen}} {
		if a.address == "" || a.path == "admin_listen" && a.address == NoListener {
			continue
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			k.find("server."+a.path, "want a host and a port such as 127.0.0.1:8790, got %.100q", a.address)
		}
	}
	switch t := &s.TLS; {
	case (t.Cert == "") != (t.Key == ""):
		k.find("server.tls", "a certificate needs its key (set both cert and key)")
	case t.ClientCA != "" && t.Cert == "":
		k.find("server.tls.client_ca", "certificates of clients need one of the server (set cert and key)")
	}
	if with := s.WithDefaults(); with.MaxBodies/2 < with.MaxBody {
		k.find("server.max_bodies", "want at least %s, twice max_body, because one tenant has half of it", 2*with.MaxBody)
	}
	if s.DrainDelay < 0 && time.Duration(s.DrainDelay) != time.Duration(boundWords["none"]) {
		k.find("server.drain_delay", "want a time span, or none")
	}
}
