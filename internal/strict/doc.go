// Package strict decodes YAML and JSON documents into Go structs. It reports every mistake with
// its position.
//
// A document is first read into a tree of [Node] values that know their line
// and column ([ParseYAML], [ParseJSON]); [Decode] then fills a struct from the
// tree. Unknown keys, duplicate keys, wrong types, values outside their bounds
// and missing keys are all collected, not only the first:
//
//	anchor.yaml:7:5: steps[0].prioritty: unknown key (did you mean "priority"?)
//	anchor.yaml:9:12: max_tokens: want a whole number, got the string "8k"
//
// A struct field takes part when it has a `key` tag. Further tags bound and
// describe it, and [Schema] prints them as a JSON Schema:
//
//	Name string `key:"name,required" doc:"What the step is called."`
//	TopK int    `key:"top_k" min:"0" max:"10000" default:"10" doc:"…"`
//	Mode string `key:"mode" enum:"ro,rw" doc:"…"`
package strict
