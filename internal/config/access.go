package config

// Queue bounds the builds of serve.
type Queue struct {
	Builds  int  `key:"builds" min:"1" doc:"How many builds run at the same time. Default: the number of processors, and at least 2. More are useful where builds wait for models and servers; where they compute, a tenant with many builds slows down the others."`
	Waiting int  `key:"waiting" min:"1" doc:"How many more builds may wait. Default: 64 for each of builds. When more come, the newest of the tenant that waits with most is refused with status 503."`
	Bytes   Size `key:"bytes" default:"256MiB" doc:"The maximum size of the requests that wait."`
}

// Audit says where serve logs who did what.
type Audit struct {
	Path      string   `key:"path" doc:"File of the log. Default: there is none."`
	Key       string   `key:"key" doc:"File of the Ed25519 key, in PEM, that signs the log. If it does not exist, serve makes one, and a file with the public key beside it. Default: path with .key at its end."`
	MaxSize   Size     `key:"max_size" default:"64MiB" doc:"Size from which the file is renamed and another one begun."`
	Keep      Age      `key:"keep" doc:"The age at which a file that was renamed is deleted, such as 365d. Default: never."`
	HeadEvery Duration `key:"head_every" default:"30s" doc:"Time after which new lines are signed."`
	OnError   string   `key:"on_error" enum:"continue,stop" default:"continue" doc:"What happens while the log cannot be written, as on a full disk: continue answers requests, and the log later says how many lines are lost; stop refuses requests with status 503."`
}

// KeyPath returns the file of the key that signs the log.
func (a *Audit) KeyPath() string {
	if a.Key == "" {
		return a.Path + ".key"
	}
	return a.Key
}
