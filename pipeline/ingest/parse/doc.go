// Package parse reads files as documents: text, Markdown and other markup, HTML, PDF, the files of
// offices, mails, notebooks, lists and source code. Every parser draws its memory and its work from a
// [meter.Meter], which bounds them by the length of its input, and none of them panics on any input.
package parse

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// What parsers make of files.
type (
	// Kind says what a block is.
	Kind = document.Kind
	// Block is a piece of a document.
	Block = document.Block
	// Document is what a parser finds in a file, or in one record of a file.
	Document = document.Document
	// Limits bound what a parser does.
	Limits = document.Limits
)

// The kinds of blocks.
const (
	Text    = document.Text
	Heading = document.Heading
	Table   = document.Table
	Rows    = document.Rows
	Code    = document.Code
)

// Errors of parsers, for errors.Is. Their text has the remedy.
var (
	ErrBinary    = document.ErrBinary
	ErrEncrypted = document.ErrEncrypted
	ErrDamaged   = document.ErrDamaged
	ErrTooLarge  = document.ErrTooLarge
	ErrNoText    = document.ErrNoText
)

const maxMeta = document.MaxMeta

// StreamMeter begins the account of a file that is read record by record. It grows with what is read,
// and knows no time.
func StreamMeter(ctx context.Context) *meter.Meter { return document.StreamMeter(ctx) }

// job is the work on one file.
type job struct {
	m       *meter.Meter
	limits  Limits
	charset string // declared by who sent the file
	mails   int    // in how many mails the file is
	// warnings are for [Document.Warnings].
	warnings []string
}

// add adds a block to a document, whose text is memory of its own or a part of what is there.
func (j *job) add(d *Document, b Block) { d.Blocks = meter.Append(j.m, d.Blocks, b) }
