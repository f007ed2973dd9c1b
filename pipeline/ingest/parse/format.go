package parse

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// Format names a parser.
type Format string

// The formats.
const (
	FormatText     Format = "text"
	FormatMarkdown Format = "markdown"
	FormatHTML     Format = "html"
	FormatPDF      Format = "pdf"
	FormatDOCX     Format = "docx"
	FormatPPTX     Format = "pptx"
	FormatXLSX     Format = "xlsx"
	FormatODT      Format = "odt"
	FormatRTF      Format = "rtf"
	FormatEPUB     Format = "epub"
	FormatMail     Format = "eml"
	FormatNotebook Format = "ipynb"
	FormatRST      Format = "rst"
	FormatAsciiDoc Format = "asciidoc"
	FormatLaTeX    Format = "latex"
	FormatMan      Format = "man"
	FormatCSV      Format = "csv"
	FormatJSONL    Format = "jsonl"
	FormatCode     Format = "code"
)

// Formats lists all formats.
var Formats = []Format{
	FormatText, FormatMarkdown, FormatHTML, FormatPDF, FormatDOCX, FormatPPTX, FormatXLSX, FormatODT, FormatRTF, FormatEPUB, FormatMail, FormatNotebook,
	FormatRST, FormatAsciiDoc, FormatLaTeX, FormatMan, FormatCSV, FormatJSONL, FormatCode,
}

// Check returns an error that lists the formats unless f is one of them, or empty.
func (f Format) Check() error {
	if f == "" || slices.Contains(Formats, f) {
		return nil
	}
	var names []string
	for _, known := range Formats {
		names = append(names, string(known))
	}
	return fmt.Errorf("format %.40q: %w (want one of %s)", f, decode.ErrInvalid, strings.Join(names, ", "))
}

// Packed reports whether files of the format are compressed or have pictures in them, so that they are
// larger than their text.
func (f Format) Packed() bool {
	switch f {
	case FormatPDF, FormatDOCX, FormatPPTX, FormatXLSX, FormatODT, FormatRTF, FormatEPUB, FormatMail, FormatNotebook:
		return true
	}
	return false
}

// Streams reports whether files of the format are read as streams: record by record, so that they
// may have any size.
func (f Format) Streams() bool { return f == FormatCSV || f == FormatJSONL }

var endings = map[string]Format{
	"md": FormatMarkdown, "markdown": FormatMarkdown, "mdx": FormatMarkdown,
	"html": FormatHTML, "htm": FormatHTML, "xhtml": FormatHTML,
	"pptx": FormatPPTX, "xlsx": FormatXLSX, "odt": FormatODT, "odp": FormatODT, "ods": FormatODT, "rtf": FormatRTF, "epub": FormatEPUB, "eml": FormatMail, "mht": FormatMail, "mhtml": FormatMail, "ipynb": FormatNotebook,
	"rst": FormatRST, "adoc": FormatAsciiDoc, "asciidoc": FormatAsciiDoc, "tex": FormatLaTeX, "man": FormatMan, "mdoc": FormatMan,
	"pptm": FormatPPTX, "xlsm": FormatXLSX, "docm": FormatDOCX,
	"pdf": FormatPDF, "docx": FormatDOCX, "csv": FormatCSV, "tsv": FormatCSV, "jsonl": FormatJSONL, "ndjson": FormatJSONL,
}

const codeEndings = " go rs c h cc cpp cxx hpp hh zig py pyi js jsx mjs cjs ts tsx java kt kts scala swift rb php cs fs lua pl pm sh bash sql proto wat " +
	"hs ml mli ex exs erl clj r jl dart m mm v sv vhd asm s tf hcl nix gradle groovy css scss less vue svelte "

// media are endings of files that have no text. A walk leaves such files out without an error.
const media = " png jpg jpeg gif bmp webp ico tif tiff avif heic mp3 mp4 m4a wav ogg flac mov avi mkv webm zip gz tgz bz2 xz zst 7z rar tar jar " +
	"exe dll so dylib a o obj wasm class pyc woff woff2 ttf otf eot bin dat db sqlite safetensors onnx gguf pt npy "

func ending(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, "\\", "/")), "."))
}

// Media reports whether the ending of a name is that of pictures, sounds, archives or programs.
func Media(name string) bool {
	e := ending(name)
	return e != "" && strings.Contains(media, " "+e+" ")
}

// FormatOf returns the format of a file by its name, or by the first bytes of its content if
// these are clear.
func FormatOf(name string, head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return FormatPDF
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return FormatRTF
	}
	e := ending(name)
	if f, ok := endings[e]; ok {
		return f
	}
	if isManual(e, head) {
		return FormatMan
	}
	if e != "" && strings.Contains(codeEndings, " "+e+" ") {
		return FormatCode
	}
	start := bytes.ToLower(bytes.TrimSpace(head[:min(len(head), 512)]))
	if bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return FormatHTML
	}
	return FormatText
}

// isManual reports whether a file is a page of the manual: its ending is a section, and it begins with a macro or a
// comment of roff.
func isManual(ending string, head []byte) bool {
	section := ending != "" && ending[0] >= '1' && ending[0] <= '9' && len(ending) <= 5
	head = bytes.TrimLeft(head, "\ufeff \r\n")
	for _, start := range []string{`.\"`, `'\"`, `.TH`, `.Dd`, `.de`, `..`, `.ie`, `.if`} {
		if bytes.HasPrefix(head, []byte(start)) {
			return section && !bytes.HasPrefix(head, []byte("...")) // which begins a sentence
		}
	}
	return false
}

// FormatOfType returns the format of a media type such as "text/html; charset=utf-8", or "" if
// the type says nothing.
func FormatOfType(mediaType string) Format {
	t, _, _ := strings.Cut(mediaType, ";")
	switch strings.ToLower(strings.TrimSpace(t)) {
	case "text/html", "application/xhtml+xml":
		return FormatHTML
	case "text/markdown":
		return FormatMarkdown
	case "application/pdf":
		return FormatPDF
	case "text/csv":
		return FormatCSV
	case "application/jsonl", "application/x-ndjson":
		return FormatJSONL
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return FormatDOCX
	case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return FormatPPTX
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return FormatXLSX
	case "application/vnd.oasis.opendocument.text":
		return FormatODT
	case "application/rtf", "text/rtf":
		return FormatRTF
	case "application/epub+zip":
		return FormatEPUB
	case "message/rfc822":
		return FormatMail
	case "application/x-ipynb+json":
		return FormatNotebook
	}
	return ""
}
