// Package plain keeps text that comes from outside from acting on a terminal or a log.
//
// A control character in a name, a key or an error could clear a screen, set the title
// of a window, turn the order of what follows around, or begin a line that looks like one
// of the program's own. [Text] shows such characters as escapes, [Line] does it for what
// must be one line, [Name] and [Path] quote keys where a message names them, and [Writer]
// is for a stream that a person reads. Escapes have the form \u001b, which means the
// character itself in JSON and in quoted YAML.
package plain
