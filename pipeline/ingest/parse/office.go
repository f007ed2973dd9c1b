package parse

import (
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/office"
)

// work is what parsers in packages of their own get.
func (j *job) work() *document.Job { return &document.Job{Meter: j.m, Limits: j.limits} }

func (j *job) docx(data []byte) (Document, error) { return office.DOCX(j.work(), data) }
