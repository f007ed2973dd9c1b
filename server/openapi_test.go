package server

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/server/internal/degraded"
	"github.com/anchor-host/anchor-host/server/jobs"
)

var update = flag.Bool("update", false, "write openapi.json")

// described is what the document says about an action beyond its route.
type described struct {
	summary string
	// in is the type of the request document, and out that of the answer. nil: any JSON.
	in, out reflect.Type
	status  int // of success; 0: 200
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// actions describes every action.
var actions = map[string]described{
	"livez":              {"Whether the process runs", nil, typeOf[healthDoc](), 0},
	"readyz":             {"Whether requests should be sent to this host; 503 while it drains. verbose (admin listener) has details", nil, typeOf[healthDoc](), 0},
	"openapi":            {"This document", nil, nil, 0},
	"build":              {"Build one context window. With accept: text/event-stream the answer is a stream of the events build.started, step.started, step.finished, step.failed, and at last result or error", typeOf[request.Request](), typeOf[pipeline.Result](), 0},
	"listBuilds":         {"List the records of builds, the newest first", nil, typeOf[builds.Page](), 0},
	"getBuild":           {"The record of a build. Without the scope content digests stand in the place of texts", nil, typeOf[builds.Record](), 0},
	"deleteBuild":        {"Delete the record of a build", nil, typeOf[deletedDoc](), 0},
	"getExplanation":     {"What happened to each item of a build, and why. With accept: image/svg+xml the answer is a drawing", nil, typeOf[builtdoc.Explanation](), 0},
	"getDiff":            {"How two builds differ, item by item. With accept: image/svg+xml the answer is a drawing", nil, typeOf[builtdoc.Diff](), 0},
	"replayBuild":        {"Build the request of a record again, with the configuration of now, and compare what each part did. It counts as a build", nil, typeOf[replayDoc](), 0},
	"assemble":           {"Prepare the messages of an agent for a model call: a list of messages, the body of a request to a model's API, which comes back as body with other messages, or an object with messages, state, budget and phase", nil, nil, 0},
	"listCosts":          {"What models cost, by day, tenant, key and model, the newest day first. tenant and all need the scope admin", nil, typeOf[costsDoc](), 0},
	"rollout":            {"What the hosts of the service follow: the versions, the share of the candidate, the hosts, and the numbers of both versions", nil, typeOf[cluster.Status](), 0},
	"listFacts":          {"List facts", nil, typeOf[factsDoc](), 0},
	"addFact":            {"Add a fact; 200 and added: false if it is there already", typeOf[factInput](), typeOf[factDoc](), 201},
	"forgetFacts":        {"Delete the facts that are selected, or all", nil, typeOf[deletedDoc](), 0},
	"getFact":            {"One fact", nil, typeOf[memory.Entry](), 0},
	"deleteFact":         {"Delete a fact", nil, typeOf[deletedDoc](), 0},
	"searchFacts":        {"Find the facts that matter to a query, or contain a text", typeOf[factQuery](), typeOf[foundDoc](), 0},
	"listConversations":  {"List conversations", nil, typeOf[conversationsDoc](), 0},
	"forgetUser":         {"Delete the facts, the conversations, the agent runs and the records of builds of a user. The answer says how many there were", nil, typeOf[anchor.ForgottenUser](), 0},
	"forgetConversation": {"Delete a conversation with its summary", nil, typeOf[deletedDoc](), 0},
	"listTurns":          {"List the turns of a conversation, oldest first", nil, typeOf[turnsDoc](), 0},
	"addTurns":           {"Add turns to a conversation, all or none", typeOf[turnsInput](), typeOf[turnsDoc](), 201},
	"deleteTurn":         {"Delete a turn", nil, typeOf[deletedDoc](), 0},
	"listRuns":           {"List agent runs", nil, typeOf[runsDoc](), 0},
	"forgetRun":          {"Delete an agent run with all its records", nil, typeOf[deletedDoc](), 0},
	"listFrames":         {"List the frames of a run, oldest first", nil, typeOf[framesDoc](), 0},
	"pushFrame":          {"Add a frame to a run", typeOf[frameInput](), typeOf[pushedDoc](), 201},
	"getWindow":          {"The frames in the window of a run, with its limits", nil, typeOf[frames.Document](), 0},
	"getCut":             {"The whole text of a tool's result that assemble has cut, by its handle", nil, typeOf[cutDoc](), 0},
	"listCollections":    {"List collections", nil, typeOf[collectionsDoc](), 0},
	"getCollection":      {"One collection", nil, typeOf[retrieve.CollectionInfo](), 0},
	"searchCollection":   {"Find the chunks of a collection that match a query best", typeOf[searchInput](), typeOf[itemsDoc](), 0},
	"listDocuments":      {"List the documents of a collection by id. Each record of a list is one; the list itself has no chunks", nil, typeOf[documentsDoc](), 0},
	"addDocuments":       {"Add documents to a collection, or replace those of the same name: a form with a part file for each, or one document as the body with its name as parameter. The answer is a job, which reads them in the background", nil, typeOf[jobs.Doc](), 202},
	"deleteDocument":     {"Delete a document of a collection, with its records", nil, typeOf[deletedDoc](), 0},
	"submitJob":          {"Submit a job that reads a folder below that of the tenant into a collection, makes the vectors of a collection again, evaluates retrieval, or builds a list of requests; 200 if the same job waits or runs. Files are texts: questions, or corpus, queries and qrels", typeOf[jobInput](), typeOf[jobs.Doc](), 202},
	"listJobs":           {"List jobs, the newest first, without their reports", nil, typeOf[jobsDoc](), 0},
	"getJob":             {"One job, with its report when it is done. That of documents is an object with the numbers files, unchanged, added, changed, failed, removed, chunks, bytes and seconds", nil, typeOf[jobs.Doc](), 0},
	"cancelJob":          {"Cancel a job. One that has ended stays as it is, and so does what it has done", nil, typeOf[jobs.Doc](), 0},
	"getJobLog":          {"The log of a job: the documents that could not be read, and why attempts failed", nil, typeOf[jobLogDoc](), 0},
	"listJobResults":     {"The results of a list of builds: objects with index, build, and result or error. A key that has not submitted the job needs the scope content", nil, typeOf[jobResultsDoc](), 0},
	"startEval":          {"Start an evaluation of retrieval. The parts corpus, queries and qrels are files in the form of BEIR; options is JSON", nil, typeOf[jobs.Doc](), 202},
	"listEvals":          {"List evaluations, without their reports", nil, typeOf[evalsDoc](), 0},
	"getEval":            {"One evaluation, with its report when it is done", nil, typeOf[jobs.Doc](), 0},
	"cancelEval":         {"Cancel an evaluation. One that has ended stays as it is", nil, typeOf[jobs.Doc](), 0},
	"config":             {"The effective configuration with the origin of each value; secrets are hidden", nil, typeOf[configDoc](), 0},
	"plugins":            {"The plugins, and what they have done", nil, typeOf[pluginsDoc](), 0},
	"listFailures":       {"List the last failed calls of all plugins on this host, the newest first: those of the tenant, with the scope admin those of all. Texts need the scope content; log, stack and the case that repeats a call need both", nil, typeOf[failures.List](), 0},
	"getFailures":        {"List the last failed calls of a plugin, as listFailures", nil, typeOf[failures.List](), 0},
	"shadows":            {"How the second versions of steps compare with the first ones, on this host since the configuration was loaded", nil, typeOf[shadowsDoc](), 0},
	"reload":             {"Load the configuration and its plugins again. An error says why everything is as before", nil, typeOf[reloaded](), 0},
	"pprof":              {"Profiles of the process, as net/http/pprof has them", nil, nil, 0},
}

// paramTexts describe the parameters of queries and paths.
var paramTexts = map[string]string{
	"timeout": "How long the request may take, such as 500ms; at most server.max_timeout. The header x-request-timeout says the same.",
	"user":    "Only facts of this user. For a build or an assembly: the user that it is for, to whom its conversation and its run belong from then on; those of another user are refused. For a list of builds: only builds for this user.",
	"session": "Only facts of the session with this name. For a list of builds: only builds for it.", "key": "Only builds that the key with this name asked for.", "request_id": "Only the builds of the request with this x-request-id.", "type": "Only facts of this type: semantic, episodic, procedural, conversation.",
	"tag": "Only facts with this tag; repeated, with all of them.", "expired": "true: also facts that have expired.", "all": "true: all facts. For costs: those of all tenants, for the scope admin.", "tenant": "The tenant whose costs are listed, for the scope admin. Default: that of the key.",
	"conversation": "Add the newest turns of this stored conversation to the window. For a list: only builds of this conversation.", "remember": "true: add the query to the conversation as a turn of the user, after the window is built. Needs the scope memory:write.",
	"omit": "Members of the answer that are left out: window, formatted_output, overflow_items, diagnostics. The texts are in window and in formatted_output.",
	"only": "Run only the steps with these names.", "skip": "Leave out the steps with these names.",
	"limit": "The most that is listed, up to 10000. Default: 1000. For builds up to 1000, default 50.", "before": "List what is older than the job with this id, which next of the page before says.", "after": "List what comes after this one, which next of the page before says.",
	"from": "For frames and results of jobs: the number of the first. For costs: the first day in UTC, such as 2026-11-01; by default 30 days before the last. For assemble: the form of the input: anthropic, openai, openai-responses, gemini. Default: found out.",
	"to":   "The form of the answer. Default: that of the input. For costs: the last day in UTC; by default today.", "lossy": "true: leave out what the form of the answer has no place for; lost lists it.",
	"run": "Name of an agent run. For assemble: a list has the messages since the last call, a body all of them, as the caller has them or as the last answer had them.", "max_tokens": "The maximum number of tokens of all messages.", "max_messages": "The maximum number of messages.",
	"phase": "llm or synthesize.", "contains": "Only turns with this text, in upper or lower case.", "verbose": "Details, for the scope admin, on the admin listener. It needs no value.",
	"pipeline": "Only builds of this pipeline.", "generation": "Only builds of the configuration and plugins with this digest.", "request": "Only builds of the request with this digest.",
	"outcome": "Only builds that ended so: ok, degraded or failed.", "since": "Only builds that ended then or later: an age such as 24h or 7d, or a time such as 2026-05-01T12:00:00Z.",
	"q":     "Only builds whose question has all these words, in any order, as far as the record has it: the first 200 characters, with content: true. Needs the scope content.",
	"item":  "Only builds that considered the item with this id. A record knows 128 items of a build.",
	"until": "Only builds that ended before: an age or a time.", "cursor": "Go on where the list ended that has this value in next.",
	"name": "The name of the document, such as guides/guide.md, if it is the body, whose format its ending tells. Of failures: the name of the plugin.",
	"a":    "The id of the record of the earlier build.", "b": "The id of the record of the later build.",
	"id": "The name or id.", "turn": "The number of the turn.", "handle": "The handle that stands in the cut text.", "collection": "The name of the collection.",
}

// paramSchema is the schema of a parameter of an action.
func paramSchema(action, name string) map[string]any {
	whole := func(least, most int) map[string]any {
		return map[string]any{"type": "integer", "minimum": least, "maximum": most}
	}
	switch name {
	case "timeout":
		return map[string]any{"type": "string", "pattern": `^([1-9][0-9]{0,4}(\.[0-9]{1,6})?(ms|s|m|h)){1,3}$`}
	case "limit":
		if action == "listBuilds" {
			return whole(1, builds.MaxPage)
		}
		if action == "listJobs" || action == "listJobResults" {
			return whole(1, jobs.MaxList)
		}
		return whole(1, maxPage)
	case "cursor":
		return map[string]any{"type": "string", "pattern": `^([1-9][0-9]{0,8})?$`}
	case "outcome":
		return map[string]any{"enum": builds.Outcomes}
	case "since", "until":
		age := map[string]any{"type": "string", "pattern": `^[1-9][0-9]{0,3}[hd]$`}
		return map[string]any{"anyOf": []any{age, ownForms[typeOf[time.Time]()]}}
	case "max_tokens", "max_messages":
		return whole(1, 1<<31-1)
	case "omit":
		names := "(" + strings.Join(omittable, "|") + ")"
		return map[string]any{"type": "string", "pattern": "^(" + names + "(," + names + ")*)?$"}
	case "turn":
		return whole(1, 1<<63-1)
	case "all", "expired", "lossy", "remember":
		return map[string]any{"type": "boolean"}
	case "phase":
		return map[string]any{"enum": []any{agent.PhaseLLM, agent.PhaseSynthesize}}
	case "type":
		return map[string]any{"enum": []any{memory.Semantic, memory.Episodic, memory.Procedural, memory.Conversation}}
	case "to":
		if action == "listCosts" {
			return map[string]any{"type": "string", "format": "date"}
		}
		return map[string]any{"enum": message.Forms}
	case "from":
		if action == "assemble" {
			return map[string]any{"enum": message.Forms}
		}
		if action == "listCosts" {
			return map[string]any{"type": "string", "format": "date"}
		}
		if action == "listJobResults" {
			return whole(0, 1<<31-1)
		}
		return whole(0, 1<<62)
	case "after":
		if action == "listTurns" {
			return whole(0, 1<<62)
		}
	}
	return map[string]any{"type": "string"}
}

// nullable makes the schema of a request: a member that may be missing may also be null.
func nullable(schema map[string]any) map[string]any {
	for _, inner := range []string{"items", "additionalProperties"} {
		if of, ok := schema[inner].(map[string]any); ok {
			schema[inner] = nullable(of)
		}
	}
	for _, inner := range []string{"oneOf", "anyOf"} {
		list, _ := schema[inner].([]any)
		for i := range list {
			list[i] = nullable(list[i].(map[string]any))
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	required := fmt.Sprint(schema["required"]) // a list of strings, or of any
	for name, of := range properties {
		of := nullable(of.(map[string]any))
		kind, plain := of["type"].(string)
		switch {
		case slices.Contains(strings.Fields(strings.Trim(required, "[]")), name) || len(of) == 0:
		case plain && of["enum"] == nil:
			of["type"] = []any{kind, "null"}
		default:
			of = map[string]any{"anyOf": []any{of, map[string]any{"type": "null"}}}
		}
		properties[name] = of
	}
	return schema
}

// schemer makes JSON Schemas of types as encoding/json writes them.
type schemer struct {
	defs  map[string]any
	types map[string]reflect.Type // by the names in defs
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// ownForms are the schemas of types with a MarshalJSON of their own.
var ownForms = map[reflect.Type]map[string]any{
	typeOf[time.Time](): {"type": "string", "format": "date-time"}, typeOf[json.RawMessage](): {},
	typeOf[frames.Estimate](): {"type": []any{"integer", "null"}}, typeOf[frames.Kind](): {"type": []any{"string", "object"}},
}

func (s *schemer) of(t reflect.Type) map[string]any {
	if known, ok := ownForms[t]; ok {
		return known
	}
	switch {
	case t == typeOf[memory.Entry]():
		return s.entry()
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		if t.Kind() == reflect.Struct && t.PkgPath() != "" && (t == typeOf[pipeline.Item]() || t == typeOf[pipeline.OverflowItem]()) {
			break // the members of its fields
		}
		return map[string]any{}
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.object(t)
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []any{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

// entry is the schema of a fact, which package memory writes by itself.
func (s *schemer) entry() map[string]any {
	text, texts, orNull := map[string]any{"type": "string"}, map[string]any{"type": "array", "items": map[string]any{"type": "string"}}, map[string]any{"type": []any{"string", "null"}}
	at := ownForms[typeOf[time.Time]()]
	properties := map[string]any{
		"id": text, "content": text, "relevance_score": map[string]any{"type": "number", "minimum": 0, "maximum": 1}, "access_count": map[string]any{"type": "integer"},
		"last_accessed": at, "created_at": at, "updated_at": at, "tags": texts, "metadata": map[string]any{"type": "object"}, "memory_type": text,
		"user_id": orNull, "session_id": orNull, "expires_at": orNull, "content_hash": text, "source_turns": texts, "links": texts,
	}
	s.defs["Fact"] = map[string]any{"type": "object", "properties": properties, "required": []any{"id", "content", "memory_type"}, "additionalProperties": false}
	return map[string]any{"$ref": "#/components/schemas/Fact"}
}

// object refers to the schema of a struct, which is a component under its name.
func (s *schemer) object(t reflect.Type) map[string]any {
	name := t.Name()
	if name == "" {
		panic("an answer has no name: " + t.String())
	}
	name = strings.NewReplacer("[", "Of", "]", "").Replace(strings.ToUpper(name[:1]) + name[1:])
	if t == typeOf[builds.Detail]() {
		name = "RecordDetail" // Detail is that of an error
	}
	if t == typeOf[jobs.Doc]() {
		name = "JobDoc"
	}
	if known := s.types[name]; known != nil && known != t {
		panic("two types of answers have the name " + name)
	}
	s.types[name] = t
	ref := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, known := s.defs[name]; known {
		return ref
	}
	s.defs[name] = nil // it may refer to itself
	properties, required := map[string]any{}, []any{}
	s.fields(t, properties, &required)
	if t == typeOf[pipeline.Result]() { // the client may omit some
		required = slices.DeleteFunc(required, func(name any) bool { return slices.Contains(omittable, name.(string)) })
	}
	if t == typeOf[pipeline.Item]() || t == typeOf[pipeline.OverflowItem]() { // no field has them
		properties["parts"] = map[string]any{"type": "array", "items": map[string]any{"type": "object"}, "description": "images, documents and sounds, in the form of the API that they came from"}
	}
	def := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		def["required"] = required
	}
	s.defs[name] = def
	return ref
}

func (s *schemer) fields(t reflect.Type, properties map[string]any, required *[]any) {
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.Anonymous && tag == "" && of.Kind() == reflect.Struct:
			var inner []any
			if s.fields(of, properties, &inner); f.Type.Kind() != reflect.Pointer {
				*required = append(*required, inner...)
			}
		case tag == "-" || !f.IsExported():
		default:
			if tag == "" {
				tag = f.Name
			}
			properties[tag] = s.of(f.Type)
			if f.Type.Kind() == reflect.Pointer && options == "" {
				properties[tag] = map[string]any{"anyOf": []any{properties[tag], map[string]any{"type": "null"}}}
			}
			if options == "" {
				*required = append(*required, tag)
			}
		}
	}
}

// document makes the OpenAPI document of a server.
func document(s *Server) map[string]any {
	sch := &schemer{defs: map[string]any{}, types: map[string]reflect.Type{}}
	failed := map[string]any{"description": "An error", "content": jsonContent(sch.of(typeOf[failure.Document]()))}
	paths := map[string]any{}
	for _, t := range []*table{s.data, s.admin} {
		for path, methods := range t.paths {
			if path == "/debug/pprof/" || !strings.HasPrefix(path, "/debug/pprof") {
				of, _ := paths[path].(map[string]any)
				if of == nil {
					of = map[string]any{}
				}
				for method, e := range methods {
					of[strings.ToLower(method)] = operation(sch, e, failed)
				}
				paths[path] = of
			}
		}
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "anchor-host", "version": "0", "summary": "Context windows with sandboxed plugins",
			"description": "Paths below /admin/ and /debug/ are on the admin listener only. Without keys, requests need none.",
			"license":     map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{map[string]any{"url": "http://127.0.0.1:8790"}, map[string]any{"url": "http://127.0.0.1:8791", "description": "the admin listener"}},
		"paths":    paths,
		"security": []any{map[string]any{}, map[string]any{"bearer": []any{}}, map[string]any{"key": []any{}}},
		"components": map[string]any{"schemas": sch.defs, "securitySchemes": map[string]any{
			"bearer": map[string]any{"type": "http", "scheme": "bearer"}, "key": map[string]any{"type": "apiKey", "in": "header", "name": "x-api-key"},
		}},
	}
}

func jsonContent(schema map[string]any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func operation(sch *schemer, e *endpoint, failed map[string]any) map[string]any {
	d := actions[e.Action]
	op := map[string]any{"operationId": e.Action, "summary": d.summary}
	if strings.HasPrefix(e.Path, "/admin/") || strings.HasPrefix(e.Path, "/debug/") {
		op["tags"] = []any{"admin"}
	}
	if e.Scope != ScopeNone {
		op["description"] = "Needs the scope " + e.Scope + "."
		if e.other != "" {
			op["description"] = "Needs the scope " + e.Scope + " or, for jobs that build, " + e.other + "."
		}
	}
	var params []any
	add := func(name, in string, required bool) {
		p := map[string]any{"name": name, "in": in, "description": paramTexts[name], "schema": paramSchema(e.Action, name)}
		if required {
			p["required"] = true
		}
		params = append(params, p)
	}
	for _, m := range pathParam.FindAllStringSubmatch(e.Path, -1) {
		add(m[1], "path", true)
	}
	for _, name := range append(slices.Clone(e.params), "timeout") {
		if e.Scope != ScopeNone || name != "timeout" {
			add(name, "query", false)
		}
	}
	if params != nil {
		op["parameters"] = params
	}
	switch e.body {
	case jsonBody:
		schema := map[string]any{}
		if d.in != nil {
			schema = nullable(strict.Schema(d.in))
		}
		op["requestBody"] = map[string]any{"required": !e.optional, "content": jsonContent(schema)}
	case uploadBody:
		file := map[string]any{"type": "string", "contentMediaType": "application/octet-stream"}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{
			"multipart/form-data": map[string]any{"schema": map[string]any{
				"type": "object", "required": []any{"file"}, "additionalProperties": false, "properties": map[string]any{"file": map[string]any{"type": "array", "items": file}},
			}},
			"application/octet-stream": map[string]any{"schema": map[string]any{}},
		}}
	case formBody:
		file := map[string]any{"type": "string", "contentMediaType": "application/octet-stream"}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{"multipart/form-data": map[string]any{"schema": map[string]any{
			"type": "object", "required": []any{"corpus", "queries", "qrels"}, "additionalProperties": false,
			"properties": map[string]any{"corpus": file, "queries": file, "qrels": file, "options": nullable(strict.Schema(typeOf[evalOptions]()))},
		}}}}
	}
	out := map[string]any{}
	if d.out != nil {
		out = sch.of(d.out)
	}
	content := jsonContent(out)
	if e.Action == "getExplanation" || e.Action == "getDiff" {
		content[svgType] = map[string]any{"schema": map[string]any{"type": "string"}}
	}
	if e.Action == "build" {
		content["text/event-stream"] = map[string]any{"schema": map[string]any{"type": "string"}}
	}
	if e.Action == "pprof" {
		content = map[string]any{"*/*": map[string]any{}}
	}
	ok := map[string]any{"description": "Success", "content": content}
	if e.Action == "build" || e.Action == "replayBuild" {
		ok["headers"] = map[string]any{buildIDHeader: map[string]any{"description": "The id of the record of the build, if records are kept", "schema": map[string]any{"type": "string"}}}
	}
	if e.Action == "build" || e.Action == "assemble" {
		headers, _ := ok["headers"].(map[string]any)
		if headers == nil {
			headers = map[string]any{}
			ok["headers"] = headers
		}
		headers[degraded.Header] = map[string]any{"description": "What the answer lacks, as step=NAME;reason=REASON, or kind=KIND;reason=REASON if it is no step, a value for each", "schema": map[string]any{"type": "string"}}
	}
	responses := map[string]any{strconv.Itoa(max(200, d.status)): ok, "default": failed}
	if e.Action == "addFact" || e.Action == "submitJob" || e.Action == "addDocuments" {
		responses["200"] = ok
	}
	if e.Action == "readyz" {
		responses["503"] = ok
	}
	op["responses"] = responses
	return op
}

// Every route is described, everything that is described is a route, and the file is up to date.
func TestOpenAPI(t *testing.T) {
	s := newServer(t, "counting: {tokenizer: words}\n", Options{})
	known := map[string]bool{}
	for _, table := range []*table{s.data, s.admin} {
		for _, methods := range table.paths {
			for _, e := range methods {
				known[e.Action] = true
				if actions[e.Action].summary == "" {
					t.Errorf("%s %s: action %s is not described", e.Method, e.Path, e.Action)
				}
				for _, p := range append(e.params, pathNames(e.Path)...) {
					if paramTexts[p] == "" {
						t.Errorf("%s %s: parameter %s is not described", e.Method, e.Path, p)
					}
				}
			}
		}
	}
	for action := range actions {
		if !known[action] {
			t.Errorf("action %s has no route", action)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(document(s)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(b.Bytes(), openapiFile) {
		t.Error("openapi.json is not up to date: go test ./server -run OpenAPI -update")
	}
	if !bytes.Contains(s.document, []byte(`"version": "0"`)) || !bytes.Contains(OpenAPI("v1.2.3"), []byte(`"version": "v1.2.3"`)) {
		t.Error("the version is not in the document")
	}
}

func pathNames(path string) (names []string) {
	for _, m := range pathParam.FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// checker judges answers by the schemas of the document.
type checker struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func newChecker(t testing.TB) *checker {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapiFile))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return &checker{doc.(map[string]any), c}
}

// check returns why an answer is not what the document says.
func (c *checker) check(method, pattern string, status int, body []byte) error {
	paths := c.doc["paths"].(map[string]any)
	of, ok := paths[pattern].(map[string]any)[strings.ToLower(method)].(map[string]any)
	if !ok {
		return fmt.Errorf("%s %s is not described", method, pattern)
	}
	responses := of["responses"].(map[string]any)
	code := strconv.Itoa(status)
	if responses[code] == nil {
		if code = "default"; status < 400 {
			return fmt.Errorf("status %d is not described (want one of %v)", status, slices.Collect(maps.Keys(responses)))
		}
	}
	pointer := "openapi.json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(pattern) + "/" + strings.ToLower(method) + "/responses/" + code + "/content/application~1json/schema"
	schema, err := c.compiler.Compile(pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	return schema.Validate(value)
}
