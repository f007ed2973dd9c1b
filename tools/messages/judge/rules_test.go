package judge

import (
	"errors"
	"strings"
	"testing"
)

// A row is a list of messages, and the place and the rule of its refusal. An accepted list has
// none. In the messages ' stands for ".
type row struct {
	name, messages string
	place          string // message and member, as in the error
	rule           string
}

const (
	hi    = `{'role':'user','content':'hi'}`
	use   = `{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'t','input':{}}]}`
	two   = `{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'t','input':{}},{'type':'tool_use','id':'b','name':'t','input':{}}]}`
	did   = `{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':'ok'}]}`
	mark  = `'cache_control':{'type':'ephemeral'}`
	think = `{'type':'thinking','thinking':'','signature':'s'}`
)

var anthropicRows = []row{
	{"smallest", hi, "", ""},
	{"call and result", hi + "," + use + "," + did, "", ""},
	{"text after results", hi + "," + use + `,{'role':'user','content':[{'type':'tool_result','tool_use_id':'a'},{'type':'text','text':'x'}]}`, "", ""},
	{"two of the user in a row", hi + "," + hi, "", ""},
	{"system after the user", hi + `,{'role':'system','content':'x'}`, "", ""},
	{"empty last of the assistant", hi + `,{'role':'assistant','content':''}`, "", ""},
	{"server tool, unfinished at the end", hi + `,{'role':'assistant','content':[{'type':'server_tool_use','id':'s','name':'web_search','input':{}}]}`, "", ""},
	{"no messages", "", "body.messages", "the list of messages is missing or empty"},
	{"assistant first", `{'role':'assistant','content':'x'},` + hi, "message 0.role", "the first message is of the user"},
	{"unknown role", hi + `,{'role':'tool','content':'x'}`, "message 1.role", "the role is unknown"},
	{"system first", `{'role':'system','content':'x'}`, "message 0.role", "a system message follows a message of the user"},
	{"system after the assistant", hi + `,{'role':'assistant','content':'x'},{'role':'system','content':'x'}`, "message 2.role", "a system message follows a message of the user"},
	{"two system messages", hi + `,{'role':'system','content':'x'},{'role':'system','content':'x'}`, "message 1.role", "the assistant speaks after a system message"},
	{"user after system", hi + `,{'role':'system','content':'x'},` + hi, "message 1.role", "the assistant speaks after a system message"},
	{"empty content", `{'role':'user','content':[]}`, "message 0.content", "content is not empty"},
	{"no content", `{'role':'user'}`, "message 0.content", "content is a text or a list of blocks"},
	{"empty text", `{'role':'user','content':[{'type':'text','text':''}]}`, "message 0.content.0.text", "a text is not empty or blank"},
	{"blank text", `{'role':'user','content':[{'type':'text','text':' \n'}]}`, "message 0.content.0.text", "a text is not empty or blank"},
	{"call of the user", `{'role':'user','content':[{'type':'tool_use','id':'a','name':'t','input':{}}]}`, "message 0.content.0", "a block of this type is of the assistant"},
	{"result of the assistant", hi + `,{'role':'assistant','content':[{'type':'tool_result','tool_use_id':'a'}]}`, "message 1.content.0", "a block of this type is of the user"},
	{"no answer", hi + "," + use, "message 1.content.0.id", "a call is answered in the next message"},
	{"one of two answers", hi + "," + two + "," + did, "message 1.content.1.id", "a call is answered in the next message"},
	{"answers in two messages", hi + "," + two + "," + did + `,{'role':'user','content':[{'type':'tool_result','tool_use_id':'b'}]}`, "message 1.content.1.id", "a call is answered in the next message"},
	{"system before the result", hi + "," + use + `,{'role':'system','content':'x'},` + did, "message 2.role", "a system message follows a message of the user"},
	{"orphan", did, "message 0.content.0.tool_use_id", "a result answers a call of the message before"},
	{"late orphan", hi + `,{'role':'assistant','content':'x'},` + did, "message 2.content.0.tool_use_id", "a result answers a call of the message before"},
	{"answered twice", hi + "," + use + `,{'role':'user','content':[{'type':'tool_result','tool_use_id':'a'},{'type':'tool_result','tool_use_id':'a'}]}`, "message 2.content.1.tool_use_id", "a call has one result"},
	{"text before a result", hi + "," + use + `,{'role':'user','content':[{'type':'text','text':'x'},{'type':'tool_result','tool_use_id':'a'}]}`, "message 2.content.1", "results come before everything else"},
	{"id twice", hi + "," + use + "," + did + "," + use + "," + did, "message 3.content.0.id", "the id of a call is unique"},
	{"odd id", hi + "," + strings.ReplaceAll(use, "'a'", "'a b'"), "message 1.content.0.id", "the id of a call has letters, digits, _ and - only"},
	{"odd name", hi + "," + strings.ReplaceAll(use, "'t'", "'t.u'"), "message 1.content.0.name", "the name of a tool has letters, digits, _ and - only"},
	{"input is a text", hi + "," + strings.ReplaceAll(use, "{}", "'{}'"), "message 1.content.0.input", "the input of a call is an object"},
	{"silent error", hi + "," + use + `,{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','is_error':true}]}`, "message 2.content.0.content", "a result that is an error says which"},
	{"call in a result", hi + "," + use + `,{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':[{'type':'tool_use'}]}]}`, "message 2.content.0.content.0", "a result holds text, images, documents and search results"},
	{"bad base64", `{'role':'user','content':[{'type':'image','source':{'type':'base64','media_type':'image/png','data':'…'}}]}`, "message 0.content.0.source.data", "the data is base64"},
	{"bad kind of image", `{'role':'user','content':[{'type':'image','source':{'type':'base64','media_type':'image/bmp','data':'YQ=='}}]}`, "message 0.content.0.source.media_type", "an image is a JPEG, PNG, GIF or WebP"},
	{"no signature", hi + `,{'role':'assistant','content':[{'type':'thinking','thinking':'x'},{'type':'text','text':'x'}]}`, "message 1.content.0.signature", "thinking has its signature"},
	{"thinking last", hi + `,{'role':'assistant','content':[{'type':'text','text':'x'},` + think + `]}`, "message 1.content.1", "thinking is not the last block"},
	{"redacted without data", hi + `,{'role':'assistant','content':[{'type':'redacted_thinking'},{'type':'text','text':'x'}]}`, "message 1.content.0.data", "redacted thinking has its data"},
	{"server tool, unfinished", hi + `,{'role':'assistant','content':[{'type':'server_tool_use','id':'s','name':'web_search','input':{}}]},` + hi, "message 1.content.0.id", "a server's call has its result in the same message"},
	{"server result alone", hi + `,{'role':'assistant','content':[{'type':'web_search_tool_result','tool_use_id':'s','content':[]}]}`, "message 1.content.0.tool_use_id", "a server's result follows its call in the same message"},
	{"trailing space", hi + `,{'role':'assistant','content':'x '}`, "message 1.content", trailingSpace},
	{"trailing space in a block", hi + `,{'role':'assistant','content':[{'type':'text','text':'x\n'}]}`, "message 1.content.0.text", trailingSpace},
	{"four marks", marks(4), "", ""},
	{"five marks", marks(5), "message 0.content.4.cache_control", "at most 4 blocks have a cache mark"},
	{"mark on thinking", hi + `,{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'s',` + mark + `},{'type':'text','text':'x'}]}`, "message 1.content.0.cache_control", "thinking has no cache mark"},
	{"long mark after short", `{'role':'user','content':[{'type':'text','text':'x',` + mark + `},{'type':'text','text':'x','cache_control':{'type':'ephemeral','ttl':'1h'}}]}`, "message 0.content.1.cache_control", "a mark of 1h comes before those of 5m"},
	{"newer block", `{'role':'user','content':[{'type':'x_new','x_a':1}]}`, "", ""},
	{"unknown block", `{'role':'user','content':[{'type':'new','a':1}]}`, "message 0.content", "the API's types do not have it"},
	{"unknown member", `{'role':'user','content':'hi','new':1}`, "message 0.new", "the API's types do not have it"},
	{"member twice", `{'role':'user','role':'user','content':'hi'}`, "body", "the body is not a JSON object"},
}

func marks(n int) string {
	return `{'role':'user','content':[` + strings.TrimSuffix(strings.Repeat(`{'type':'text','text':'x',`+mark+`},`, n), ",") + `]}`
}

const (
	ask    = `{'role':'user','content':'hi'}`
	calls  = `{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function','function':{'name':'t','arguments':'{}'}},{'id':'b','type':'function','function':{'name':'t','arguments':'{}'}}]}`
	toolA  = `{'role':'tool','tool_call_id':'a','content':'x'}`
	toolB  = `{'role':'tool','tool_call_id':'b','content':'x'}`
	answer = `{'role':'assistant','content':'x'}`
)

var chatRows = []row{
	{"calls and answers", ask + "," + calls + "," + toolB + "," + toolA + "," + answer, "", ""},
	{"assistant first", answer, "", ""},
	{"calls first", calls + "," + toolA + "," + toolB, "", ""},
	{"refusal", ask + `,{'role':'assistant','refusal':'no','content':null}`, "", ""},
	{"unknown role", `{'role':'model','content':'x'}`, "message 0.role", "the role is unknown"},
	{"null content", `{'role':'user','content':null}`, "message 0.content", "content is not null"},
	{"assistant without anything", ask + `,{'role':'assistant'}`, "message 1.content", "content is not null"},
	{"empty list", `{'role':'user','content':[]}`, "message 0.content", "content is not an empty list"},
	{"image of a tool", ask + "," + calls + "," + toolA + `,{'role':'tool','tool_call_id':'b','content':[{'type':'image_url','image_url':{'url':'u'}}]}`, "message 3.content.0.type", "the role has no parts of this type"},
	{"orphan", toolA, "message 0.tool_call_id", "a tool message answers a call of the assistant before it"},
	{"late answer", ask + "," + calls + "," + toolA + "," + ask + "," + toolB, "message 1.tool_calls.1.id", "a call is answered before the next message that is not of a tool"},
	{"no answer at the end", ask + "," + calls + "," + toolB, "message 1.tool_calls.0.id", "a call is answered before the next message that is not of a tool"},
	{"answered twice", ask + "," + calls + "," + toolA + "," + toolA, "message 3.tool_call_id", "a call has one answer"},
	{"id twice", ask + "," + strings.ReplaceAll(calls, "'b'", "'a'"), "message 1.tool_calls.1.id", "the id of a call is unique in its message"},
	{"long id", ask + "," + strings.ReplaceAll(calls, "'a'", "'"+strings.Repeat("a", 41)+"'"), "message 1.tool_calls.0.id", "the id of a call has 1 to 40 bytes"},
	{"no calls", ask + `,{'role':'assistant','content':'x','tool_calls':[]}`, "message 1.tool_calls", "the list of calls is not empty"},
	{"calls of the user", `{'role':'user','content':'x','tool_calls':[]}`, "message 0.tool_calls", "calls are of the assistant"},
	{"arguments are an object", ask + "," + strings.Replace(calls, "'{}'", "{}", 1), "message 1.tool_calls.0.function.arguments", "the arguments of a call are a text"},
	{"odd name", ask + "," + strings.Replace(calls, "'t'", "'t u'", 1), "message 1.tool_calls.0.name", "the name of a tool has letters, digits, _ and - only"},
	{"unknown member", `{'role':'user','content':'x','new':1}`, "message 0.new", "the API's types do not have it"},
}

const (
	call      = `{'type':'function_call','id':'fc_a','call_id':'a','name':'t','arguments':'{}'}`
	out       = `{'type':'function_call_output','call_id':'a','output':'x'}`
	reasoning = `{'type':'reasoning','id':'rs_a','summary':[],'encrypted_content':'e'}`
)

var responsesRows = []row{
	{"call and output", ask + "," + reasoning + "," + call + "," + out, "", ""},
	{"compaction", `{'type':'compaction','id':'cmp_a','encrypted_content':'e'},` + ask, "", ""},
	{"no type", `{'content':'x'}`, "message 0.type", "an item has a type or a role"},
	{"unknown role", `{'role':'tool','content':'x'}`, "message 0.role", "the role is unknown"},
	{"input of the assistant", `{'role':'assistant','content':[{'type':'input_text','text':'x'}]}`, "message 0.content.0.type", "the role has no parts of this type"},
	{"output of the user", `{'role':'user','content':[{'type':'output_text','text':'x'}]}`, "message 0.content.0.type", "the role has no parts of this type"},
	{"no content", `{'role':'user'}`, "message 0.content", "content is a text or a list of parts"},
	{"orphan", ask + "," + out, "message 1.call_id", "an output answers a call before it"},
	{"output before its call", out + "," + call, "message 0.call_id", "an output answers a call before it"},
	{"other kind of output", call + `,{'type':'custom_tool_call_output','call_id':'a','output':'x'}`, "message 1.call_id", "an output answers a call before it"},
	{"no output", ask + "," + call, "message 1.call_id", "a call has its output"},
	{"two outputs", call + "," + out + "," + out, "message 2.call_id", "a call has one output"},
	{"call_id twice", call + "," + strings.Replace(call, "fc_a", "fc_b", 1) + "," + out, "message 1.call_id", "the id of a call is there and unique"},
	{"id twice", reasoning + "," + call + "," + out + "," + reasoning + `,{'role':'assistant','content':'x'}`, "message 3.id", "the id of an item is unique"},
	{"odd id", strings.Replace(call, "fc_a", "call_a", 1) + "," + out, "message 0.id", "the id begins as its type wants"},
	{"reasoning last", ask + "," + reasoning, "message 1", "reasoning is followed by the item that it led to"},
	{"reasoning before the user", reasoning + "," + ask, "message 0", "reasoning is followed by the item that it led to"},
	{"reasoning before an output", call + "," + reasoning + "," + out, "message 1", "reasoning is followed by the item that it led to"},
	{"no summary", `{'type':'reasoning','id':'rs_a'},` + call + "," + out, "message 0.summary", "reasoning has a summary, if only an empty one"},
	{"arguments are an object", strings.Replace(call, "'{}'", "{}", 1) + "," + out, "message 0.arguments", "the arguments of a call are a text"},
	{"odd name", strings.Replace(call, "'t'", "''", 1) + "," + out, "message 0.name", "the name of a tool has letters, digits, _ and - only"},
	{"no output text", call + `,{'type':'function_call_output','call_id':'a'}`, "message 1.output", "the output is a text or a list of parts"},
	{"text in an output", call + `,{'type':'function_call_output','call_id':'a','output':[{'type':'text','text':'x'}]}`, "message 1.output.0.type", "an output holds input parts"},
	{"empty compaction", `{'type':'compaction','id':'cmp_a'}`, "message 0.encrypted_content", "the member is required"},
	{"unknown member", `{'role':'user','content':'x','new':1}`, "message 0.new", "the API's types do not have it"},
}

const (
	gUser  = `{'role':'user','parts':[{'text':'hi'}]}`
	gCall  = `{'role':'model','parts':[{'functionCall':{'name':'t','args':{}}},{'functionCall':{'name':'u','args':{}}}]}`
	gReply = `{'role':'user','parts':[{'functionResponse':{'name':'u','response':{}}},{'functionResponse':{'name':'t','response':{}}}]}`
	gModel = `{'role':'model','parts':[{'text':'x'}]}`
)

var geminiRows = []row{
	{"calls and responses", gUser + "," + gCall + "," + gReply + "," + gModel, "", ""},
	{"unknown role", `{'role':'assistant','parts':[{'text':'x'}]}`, "message 0.role", "the role is unknown"},
	{"model first", gModel, "message 0.role", "the first content is of the user"},
	{"user twice", gUser + "," + gUser, "message 1.role", "user and model alternate"},
	{"no parts", `{'role':'user','parts':[]}`, "message 0.parts", "parts are not empty"},
	{"empty part", `{'role':'user','parts':[{}]}`, "message 0.parts.0", "a part has data"},
	{"two kinds of data", `{'role':'user','parts':[{'text':'x','functionCall':{'name':'t'}}]}`, "message 0.parts.0", "a part has data of one kind"},
	{"call of the user", `{'role':'user','parts':[{'functionCall':{'name':'t'}}]}`, "message 0.parts.0.functionCall", "a call is of the model"},
	{"odd name", gUser + "," + strings.Replace(gCall, "'t'", "'t u'", 1), "message 1.parts.0.functionCall.name", "the name of a function has letters, digits, _, :, . and - only"},
	{"response of the model", gUser + `,{'role':'model','parts':[{'functionResponse':{'name':'t','response':{}}}]}`, "message 1.parts.0.functionResponse", "a response is of the user"},
	{"response is a text", gUser + "," + gCall + "," + strings.Replace(gReply, "{}", "'x'", 1), "message 2.parts.0.functionResponse.response", "a response is an object"},
	{"orphan", strings.ReplaceAll(gReply, "'u'", "'t'"), "message 0.parts", "responses follow the content with their calls"},
	{"no response", gUser + "," + gCall, "message 1.parts", "the next content has as many responses as there are calls"},
	{"one of two responses", gUser + "," + gCall + `,{'role':'user','parts':[{'functionResponse':{'name':'t','response':{}}}]}`, "message 1.parts", "the next content has as many responses as there are calls"},
	{"other name", gUser + "," + gCall + "," + strings.Replace(gReply, "'u'", "'v'", 1), "message 2.parts", "a response has name and id of its call"},
	{"unknown member", `{'role':'user','parts':[{'text':'x'}],'new':1}`, "message 0.new", "the API's types do not have it"},
}

func TestRules(t *testing.T) {
	forms := []struct {
		form, before string
		rows         []row
	}{
		{Anthropic, `{'model':'m','max_tokens':1,'messages':[`, anthropicRows},
		{Chat, `{'model':'m','messages':[`, chatRows},
		{Responses, `{'model':'m','input':[`, responsesRows},
		{Gemini, `{'contents':[`, geminiRows},
	}
	for _, f := range forms {
		for _, r := range f.rows {
			t.Run(f.form+"/"+r.name, func(t *testing.T) {
				check(t, f.form, f.before+r.messages+"]}", r.place, r.rule)
			})
		}
	}
}

// check judges a body in which ' stands for ".
func check(t *testing.T, form, body, place, rule string) {
	t.Helper()
	err := Accept(form, []byte(strings.ReplaceAll(body, "'", `"`)))
	if rule == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("accepted, want refused: %s", rule)
	}
	if refusal.Rule != rule || !strings.HasPrefix(err.Error(), place+": ") {
		t.Errorf("refused as %q, want %s: %s", err, place, rule)
	}
}

// TestBodies has the rules of members beside the messages.
func TestBodies(t *testing.T) {
	const enabled = `{'model':'m','max_tokens':2000,'thinking':{'type':'enabled','budget_tokens':1024},'messages':[`
	rows := []struct{ name, form, body, place, rule string }{
		{"no model", Anthropic, `{'max_tokens':1,'messages':[` + hi + `]}`, "body.model", "the member is required"},
		{"no max_tokens", Anthropic, `{'model':'m','messages':[` + hi + `]}`, "body.max_tokens", "the member is required"},
		{"call without thinking", Anthropic, enabled + hi + "," + use + "," + did + `]}`, "message 1.content.0", "the last message with calls begins with thinking, as thinking is enabled"},
		{"call with thinking", Anthropic, enabled + hi + "," + strings.Replace(use, "[", "["+think+",", 1) + "," + did + `]}`, "", ""},
		{"marks on tools count", Anthropic, `{'model':'m','max_tokens':1,'tools':[{'name':'t','input_schema':{'type':'object'},` + mark + `}],'messages':[` + marks(4) + `]}`, "message 0.content.3.cache_control", "at most 4 blocks have a cache mark"},
		{"unknown member", Anthropic, `{'model':'m','max_tokens':1,'new':1,'messages':[` + hi + `]}`, "body.new", "the API's types do not have it"},
		{"no model", Chat, `{'messages':[` + ask + `]}`, "body.model", "the member is required"},
		{"one text", Responses, `{'model':'m','input':'hi'}`, "", ""},
		{"call at the provider", Responses, `{'model':'m','previous_response_id':'resp_1','input':[` + out + `]}`, "", ""},
		{"not JSON", Gemini, `{'contents':[`, "body", "the body is not a JSON object"},
		{"a list", Gemini, `[]`, "body", "the body is not a JSON object"},
		{"null", Gemini, `null`, "body", "the body is not a JSON object"},
		{"no contents", Gemini, `{}`, "body.contents", "the list of messages is missing or empty"},
		{"unknown form", "cohere", `{}`, "body", "the form is unknown"},
	}
	for _, r := range rows {
		t.Run(r.form+"/"+r.name, func(t *testing.T) { check(t, r.form, r.body, r.place, r.rule) })
	}
}

func TestUnchanged(t *testing.T) {
	body := func(messages string) []byte {
		return []byte(strings.ReplaceAll(`{'model':'m','messages':[`+messages+`]}`, "'", `"`))
	}
	full := hi + `,{'role':'assistant','content':[` + think + `,{'type':'text','text':'x'}]}`
	rows := []struct{ name, after, rule string }{
		{"the same", full, ""},
		{"dropped as a whole", hi, ""},
		{"another signature", strings.Replace(full, "'s'", "'z'", 1), "a sealed part is as it was, in its place"},
		{"another neighbour", strings.Replace(full, "'x'", "'z'", 1), "what follows a sealed part is as it was"},
		{"twice", full + "," + full, "a sealed part is as it was, in its place"},
	}
	for _, r := range rows {
		err := Unchanged(Anthropic, body(full), body(r.after))
		var refusal *Refusal
		if errors.As(err, &refusal) != (r.rule != "") || refusal != nil && refusal.Rule != r.rule {
			t.Errorf("%s: %v, want %q", r.name, err, r.rule)
		}
	}
	compacted := []byte(`{"input":[{"type":"compaction","encrypted_content":"x"},{"role":"user","content":"a"},{"role":"user","content":"b"}]}`)
	if err := Unchanged(Responses, compacted, []byte(strings.Replace(string(compacted), `{"role":"user","content":"a"},`, "", 1))); err != nil {
		t.Errorf("compacted history without what followed it: %v", err)
	}
	if err := Unchanged(Responses, compacted, []byte(strings.Replace(string(compacted), `"x"`, `"y"`, 1))); err == nil {
		t.Error("other compacted history is not seen")
	}
	if err := Unchanged(Anthropic, body(full), []byte(`{"model":"n","messages":[]}`)); err == nil {
		t.Error("another model is not seen")
	}
}
