package jsontext

import "strconv"

// Writer appends members of objects to Dst.
type Writer struct{ Dst []byte }

// Name appends the name of a member, after a comma if it is not the first.
func (w *Writer) Name(name string) {
	if n := len(w.Dst); n > 0 && w.Dst[n-1] != '{' {
		w.Dst = append(w.Dst, ',')
	}
	w.Dst = append(append(append(w.Dst, '"'), name...), `":`...)
}

// Rows appends a member that is a list of rows.
func (w *Writer) Rows(name string, rows []uint32) {
	w.Name(name)
	w.Dst = append(w.Dst, '[')
	for i, r := range rows {
		if i > 0 {
			w.Dst = append(w.Dst, ',')
		}
		w.Dst = strconv.AppendUint(w.Dst, uint64(r), 10)
	}
	w.Dst = append(w.Dst, ']')
}

// List appends a member that is a list of n objects, whose members f appends. It appends nothing
// if n is 0.
func (w *Writer) List(name string, n int, f func(i int)) {
	if n == 0 {
		return
	}
	w.Name(name)
	w.Dst = append(w.Dst, '[')
	for i := range n {
		if i > 0 {
			w.Dst = append(w.Dst, ',')
		}
		w.Dst = append(w.Dst, '{')
		f(i)
		w.Dst = append(w.Dst, '}')
	}
	w.Dst = append(w.Dst, ']')
}
