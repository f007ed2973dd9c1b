package parse

import (
	"fmt"
	"strconv"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/office"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// work is what parsers in packages of their own get.
func (j *job) work() *document.Job { return &document.Job{Meter: j.m, Limits: j.limits} }

// xlsx makes documents of the sheets of a workbook: of each a list, as of a file of CSV.
func (j *job) xlsx(data []byte, yield func(Document) error) (err error) {
	var of error // of yield
	defer func() {
		if p := recover(); p != nil && of == nil {
			err = fmt.Errorf("%w: parser failed: %v", ErrDamaged, p)
		}
	}()
	names, found := map[string]bool{}, false
	take := func(d Document) error {
		found = found || len(d.Blocks) > 0
		if len(d.Blocks) == 0 {
			return nil
		}
		of = yield(d)
		return of
	}
	err = office.XLSX(j.work(), data, func(name string) office.Sheet {
		if name = oneLine(name); !isName(name) || names[name] {
			name = "sheet " + strconv.Itoa(len(names)+1)
		}
		names[name] = true
		t := &csvTable{job: j, yield: take, name: name}
		return func(values []string, number int) error {
			if number == 0 {
				return t.end()
			}
			return t.row(values, retrieve.Lines{From: number, To: number})
		}
	})
	if err == nil && !found {
		return ErrNoText
	}
	return err
}
