package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/abi"
)

// OwnCase is a case of a plugin's author: a request and the expected answer, in every lane
// of the operation.
type OwnCase struct {
	// Name says what the case checks. The id of the case is "own/" and the name.
	Name string `json:"name"`
	// Plugin is the name of the plugin that the case is for, as in its manifest. "" is any.
	Plugin string `json:"plugin,omitempty"`
	// Operation may be empty if the plugin has only one.
	Operation abi.Operation `json:"operation,omitempty"`
	// Init are the init settings, Settings the step settings. nil means the settings of
	// the run.
	Init     map[string]any `json:"init,omitzero"`
	Settings map[string]any `json:"settings,omitzero"`
	// Query, Items, TopK and TokensLeft make the request of an operation on
	// items. An item is an object, or a text alone.
	Query      string    `json:"query,omitempty"`
	Items      []OwnItem `json:"items,omitempty"`
	TopK       int       `json:"top_k,omitempty"`
	TokensLeft int       `json:"tokens_left,omitempty"`
	// Request is the whole request document. It replaces these fields. Its settings, if it has
	// any, are taken as Settings, which is then left out.
	Request json.RawMessage `json:"request,omitempty"`
	// HTTP are the requests that the plugin is expected to send, with their responses. Each must
	// be sent at least once, and no others. nil means those of the run.
	HTTP []Exchange `json:"http,omitzero"`
	// Services are the requests to the services embed, search and llm that the plugin is expected
	// to send, with their answers. Each must be sent at least once, and no others. nil means
	// answers that are made up.
	Services []ServiceCall `json:"services,omitzero"`
	// Config is what config_get returns. nil means the configuration of the run.
	Config map[string]string `json:"config,omitzero"`
	// KV is what the key-value store holds before the call. Nothing of it is kept for another
	// case. nil means the store of the run.
	KV []Value `json:"kv,omitzero"`
	// Tokens are the numbers of tokens of texts that the plugin counts. Other texts are counted.
	Tokens []TokenCount `json:"tokens,omitzero"`
	// Log is what the plugin logged when the case was recorded. It is not compared.
	Log []string `json:"log,omitempty"`
	// Expect describes the expected answer.
	Expect Expect `json:"expect"`

	// File is the file of the case, for messages.
	File string `json:"-"`
}

// OwnItem is an item of a case: an object as in documents, or a text alone.
type OwnItem abi.Item

// UnmarshalJSON implements json.Unmarshaler. Unknown members are errors.
func (it *OwnItem) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &it.Content)
	}
	return strictly(b, (*abi.Item)(it))
}

// DocumentType returns the type whose members the object has. It is for tools that check cases.
func (OwnItem) DocumentType() any { return abi.Item{} }

// Expect describes the expected answer of a case. Absent members are not checked; at least one
// member is required. Keep, Order, Scores, Texts and Items describe the list after the changes.
type Expect struct {
	// Keep are the rows that stay, in any order.
	Keep []uint32 `json:"keep,omitzero"`
	// Order are the rows in their final order. The numbers of new items follow the last
	// row.
	Order []uint32 `json:"order,omitzero"`
	// Scores are the scores of the final list, within one millionth.
	Scores []float64 `json:"scores,omitzero"`
	// Texts are the texts of the final list.
	Texts []string `json:"texts,omitzero"`
	// Items are the new items: texts, or objects whose members are compared.
	Items []json.RawMessage `json:"items,omitzero"`
	// NoChange expects status 1, or changes that change nothing.
	NoChange bool `json:"no_change,omitempty"`
	// Output is the answer of an operation without rows. Members that it does not have are not
	// compared.
	Output json.RawMessage `json:"output,omitempty"`
	// Error is a part of the message of a refusal.
	Error string `json:"error,omitempty"`
	// Stored are values of the key-value store after the call. A key without a value is one
	// that the store does not hold.
	Stored []Value `json:"stored,omitzero"`
}

// ParseOwnCases reads a file of cases: one object, or a list of them.
// Unknown members and an empty list are errors.
func ParseOwnCases(file string, b []byte) ([]OwnCase, error) { return parseCases(file, b, true) }

// ParseCase reads a file with one case, which need not expect anything.
func ParseCase(file string, b []byte) (*OwnCase, error) {
	cases, err := parseCases(file, b, false)
	if err == nil && len(cases) > 1 {
		err = fmt.Errorf("%s: %d cases (want one)", file, len(cases))
	}
	if err != nil {
		return nil, err
	}
	return &cases[0], nil
}

// parseCases reads cases, of which each has to expect something if they are whole.
func parseCases(file string, b []byte, whole bool) ([]OwnCase, error) {
	var cases []OwnCase
	var err error
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		err = strictly(b, &cases)
	} else {
		cases = make([]OwnCase, 1)
		err = strictly(b, &cases[0])
	}
	if err == nil && len(cases) == 0 {
		err = errors.New("the file has no case (remove the file, or write a case)")
	}
	for i := range cases {
		if err == nil {
			err = cases[i].check(whole)
		}
		cases[i].File = file
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return cases, nil
}

// ParseExchanges reads a list of exchanges. Unknown members are errors.
func ParseExchanges(file string, b []byte) ([]Exchange, error) {
	var list []Exchange
	err := strictly(b, &list)
	if err == nil {
		err = checkExchanges(list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// strictly decodes one JSON value without unknown members.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value (put several cases into a list)")
	}
	return nil
}

func (c *OwnCase) check(whole bool) error {
	e := &c.Expect
	switch {
	case c.Name == "":
		return errors.New("a case has no name (say what it checks)")
	case strings.ContainsFunc(c.Name, unicode.IsControl):
		return fmt.Errorf("case %.100q: a name is one line without control characters", c.Name)
	case c.Request != nil && (c.Items != nil || c.Query != "" || c.TopK != 0 || c.TokensLeft != 0):
		return fmt.Errorf("case %.100q: request is the whole document (leave out query, items, top_k and tokens_left)", c.Name)
	case whole && !e.NoChange && e.Error == "" && e.Output == nil && !e.list() && e.Items == nil && e.Stored == nil:
		return fmt.Errorf("case %.100q: nothing is expected (want one of keep, order, scores, texts, items, no_change, output, error, stored)", c.Name)
	case e.Stored != nil && c.KV == nil:
		return fmt.Errorf("case %.100q: stored needs kv, what the store holds before the call (an empty list for nothing)", c.Name)
	}
	if err := c.takeSettings(); err != nil {
		return fmt.Errorf("case %.100q: %w", c.Name, err)
	}
	if err := checkValues("kv", c.KV); err != nil {
		return fmt.Errorf("case %.100q: %w", c.Name, err)
	}
	if err := checkValues("expect.stored", e.Stored); err != nil {
		return fmt.Errorf("case %.100q: %w", c.Name, err)
	}
	if err := checkExchanges(c.HTTP); err != nil {
		return fmt.Errorf("case %.100q: %w", c.Name, err)
	}
	if err := checkServiceCalls(c.Services); err != nil {
		return fmt.Errorf("case %.100q: %w", c.Name, err)
	}
	return nil
}

// takeSettings moves the settings in the request document to where those of a case are, so that they are
// checked and used as in a call with that document.
func (c *OwnCase) takeSettings() error {
	var doc map[string]json.RawMessage
	var settings map[string]any
	err := json.Unmarshal(c.Request, &doc)
	if err == nil {
		err = json.Unmarshal(doc["settings"], &settings)
	}
	switch {
	case err != nil || settings == nil:
		return nil // what is wrong with the document shows when it is read whole
	case c.Settings != nil:
		return errors.New("request has settings, and the case too (leave out one of them)")
	}
	delete(doc, "settings")
	c.Settings = settings
	c.Request, err = json.Marshal(doc)
	return err
}

// list reports whether the case expects anything of the final list.
func (e *Expect) list() bool {
	return e.Keep != nil || e.Order != nil || e.Scores != nil || e.Texts != nil
}

// refused compares an error with the expected one.
func (c *OwnCase) refused(err error) outcome {
	if want := c.Expect.Error; want != "" && strings.Contains(err.Error(), want) {
		return passed
	}
	return failed("%s", err)
}

// request makes the request of a case.
func (c *OwnCase) request(op *Operation, settings json.RawMessage) (*request, error) {
	info, _ := abi.LookupOperation(op.Operation)
	req := &request{op: op.Operation}
	if info.Request != "ItemsRequest" {
		doc, err := c.document(info, settings)
		if err == nil {
			doc, err = op.Parts.Request(op.Operation, doc)
		}
		req.doc = doc
		return req, err
	}
	doc := &abi.ItemsRequest{Query: abi.Query{Text: c.Query}, TopK: c.TopK, TokensLeft: c.TokensLeft}
	for _, it := range c.Items {
		doc.Items = append(doc.Items, abi.Item(it))
	}
	if c.Request != nil {
		var err error
		if doc, err = abi.DecodeItemsRequest(c.Request); err != nil {
			return nil, err
		}
	}
	if info.TopK && doc.TopK == 0 {
		doc.TopK = 10
	}
	req.rows, req.cols = doc.Items, op.Reads
	req.items = op.Operation != abi.OpRetrieve && op.Operation != abi.OpMemory
	req.env = abi.Envelope{Query: op.Parts.Query(&doc.Query), TopK: doc.TopK, TokensLeft: doc.TokensLeft, Settings: settings}
	return req, nil
}

// document makes the document of an operation without rows, with the settings
// put in.
func (c *OwnCase) document(info abi.OperationInfo, settings json.RawMessage) (any, error) {
	members := map[string]json.RawMessage{}
	if c.Request != nil {
		if err := json.Unmarshal(c.Request, &members); err != nil {
			return nil, err
		}
	} else if info.Request == "QueryRequest" {
		members["query"], _ = json.Marshal(abi.Query{Text: c.Query}) // a text
	}
	if settings != nil {
		members["settings"] = settings
	}
	if info.Op != abi.OpCountTokens {
		return members, nil
	}
	var count abi.CountRequest // the answer is compared with its texts
	b, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(b, &count)
	return count, err
}
