package config

// Queue bounds the builds of serve.
type Queue struct {
	Builds  int  `key:"builds" min:"1" doc:"How many builds run at the same time. Default: the number of processors, and at least 2. More are useful where builds wait for models and servers; where they compute, a tenant with many builds slows down the others."`
	Waiting int  `key:"waiting" min:"1" doc:"How many more builds may wait. Default: 64 for each of builds. When more come, the newest of the tenant that waits with most is refused with status 503."`
	Bytes   Size `key:"bytes" default:"256MiB" doc:"The maximum size of the requests that wait."`
}

// Jobs says which work serve keeps in a database and does in the background.
type Jobs struct {
	Workers int    `key:"workers" min:"1" max:"1000" doc:"How many jobs this host runs at the same time. With keys, all hosts together run half as many of one tenant, at least one. The jobs are in a file beside the store, with .jobs at the end of its name, or in the database of the store. Default: none; then the process that gets an upload reads it, and its end cancels that."`
	Waiting int    `key:"waiting" min:"1" max:"100000" default:"100" doc:"How many jobs of one tenant may wait or run. Further ones are refused with status 429."`
	Folder  string `key:"folder" doc:"Folder with a folder for each tenant, by its name, from which jobs of the tenant may read files. Default: jobs read uploads only."`
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
