// Package record says what a plugin was asked, what it answered, and what it asked the host for
// in between. A host collects this only if its configuration has a function that receives it.
//
// Whoever receives a [Call] sees no secrets: the host has put asterisks in their place.
package record

import (
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// MaxBytes bounds what the host collects of one call, in bytes. What is beyond it is left out.
const MaxBytes = 8 << 20

// MaxFailureBytes bounds what the host collects of one call if it hands over failures only, in bytes.
const MaxFailureBytes = 64 << 10

// Call is one call of a plugin. Call and its lists may be kept, and must not be changed.
type Call struct {
	// Plugin is the name of the configured plugin, Module that in the plugin's manifest.
	Plugin string
	Module string
	// Operation is what the host called, Step the step that the call was for, "" for none.
	Operation abi.Operation
	Step      string
	// Init are the settings of init, nil for none. Config is what config_get returns.
	Init   []byte
	Config map[string]string
	// Request is the document that the plugin received, with the settings of the operation. It is
	// nil if the plugin has the operation in the batch lane only, or if it was longer than MaxBytes.
	Request []byte
	// Answer is the document that the plugin answered with, nil for none.
	Answer []byte
	// NoChange says that the plugin answered with status 1.
	NoChange bool
	// Err is why the call failed, "" if it did not.
	Err string

	// HTTP are the HTTP requests, those of init first, in the order of their answers.
	HTTP []HTTP
	// KV are the uses of the key-value store, in order.
	KV []KV
	// Services are the requests to the services embed, search and llm, in order.
	Services []Service
	// Counts are the texts whose tokens were counted.
	Counts []Count
	// Log are the lines that the plugin logged, each with its level: "info: started".
	Log []string

	// Hide puts asterisks in the place of the secrets of the call in any text, such as one that the
	// plugin has passed on.
	Hide func(text string) string `json:"-"`

	// LeftOut is how many bytes of the call were beyond MaxBytes.
	LeftOut int64

	used int64
	// brief collects for failures only: the request is not copied, and the answer is not kept. ended
	// says that the call ended well, so that the next one of the instance can use the memory.
	brief, ended bool
}

// Failure is a call that failed. LeftOut, and a Request that is nil although the plugin has the lane
// JSON, say that the call cannot be repeated: it was longer than MaxFailureBytes, or refused before the
// plugin received it.
type Failure struct {
	// Call is the call without its answer. Err is the whole cause, for operators.
	Call
	// Time is when the call ended, Tenant whose call it was. User, Conversation and Run are what of the
	// tenant it was for, "" for none.
	Time                            time.Time
	Tenant, User, Conversation, Run string
	// Reason is the typed reason. Public is the cause without what only operators may see, and Remedy
	// what to do, "" where the host does not know.
	Reason         abi.Reason
	Public, Remedy string
	// Output is the end of what the plugin wrote to stderr, stdout and the log, and Stack its call stack
	// after a trap. Each has at most 8 KiB.
	Output, Stack string
	// Digest is that of the module. Timeout, Fuel and Memory bounded the call: time, units, bytes.
	Digest       string
	Timeout      time.Duration
	Fuel, Memory int64
}

// HTTP is an HTTP request of a plugin as the plugin stated it, without the headers that the host
// adds, and its response.
type HTTP struct {
	Method, URL string
	Headers     map[string]string
	Body        []byte

	// Status is 0 if there was no response; Failure then is timeout, dns, connect, certificate
	// or network.
	Status          int
	Failure         string
	ResponseHeaders map[string]string
	ResponseBody    []byte
}

// KV is one use of the key-value store. Set says that a value was stored, or that a key was
// deleted if Value is empty. Otherwise the plugin read Value, which is empty if there was none.
type KV struct {
	Key   string
	Value []byte
	Set   bool
}

// Service is a request of a plugin to a service with the answer, as the documents of the contract
// have them, with the numbers of a vector in the place of a block. For llm it is one of the
// requests.
type Service struct {
	// Name is embed, search or llm.
	Name            string
	Request, Answer []byte

	// asked and got are both before they are encoded.
	asked, got any
}

// Count is a text and the number of its tokens.
type Count struct {
	Text   string
	Tokens int
}
