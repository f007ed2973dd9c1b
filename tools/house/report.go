package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// areas are the folders that the table lists first, in this order.
var areas = []string{"host", "pipeline", "abi", "cmd", "internal", "store", "tokens", "usage", "sdk"}

// report is the output of a run.
type report struct {
	Packages []*pkg  `json:"packages"`
	Areas    []*area `json:"areas"`
}

// area is a folder with everything below it.
type area struct {
	Folder   string `json:"folder"`
	Packages int    `json:"packages"`
	TooLarge int    `json:"too_large"`
	figures
}

// newReport marks the packages that are too large and adds up the areas.
func newReport(packages []*pkg, maxLines, maxFiles int) *report {
	r := &report{Packages: packages}
	sums := map[string]*area{}
	for _, p := range packages {
		if p.Lines > maxLines {
			p.TooLarge = append(p.TooLarge, fmt.Sprintf("more than %d lines", maxLines))
		}
		if p.Files > maxFiles {
			p.TooLarge = append(p.TooLarge, fmt.Sprintf("more than %d files", maxFiles))
		}
		a := sums[p.area()]
		if a == nil {
			a = &area{Folder: p.area()}
			sums[a.Folder] = a
			r.Areas = append(r.Areas, a)
		}
		a.Packages++
		a.TooLarge += min(1, len(p.TooLarge))
		f := p.figures
		f.Longest.Name = p.Folder + "." + f.Longest.Name // in an area nothing else says which package it is in
		f.Largest.Type = p.Folder + "." + f.Largest.Type
		a.add(&f)
	}
	slices.SortFunc(r.Areas, func(a, b *area) int {
		return cmp.Or(cmp.Compare(place(a.Folder), place(b.Folder)), cmp.Compare(a.Folder, b.Folder))
	})
	return r
}

// place returns the place of an area in the table.
func place(folder string) int {
	if i := slices.Index(areas, folder); i >= 0 {
		return i
	}
	return len(areas)
}

// judge names the packages that are too large, and returns the exit status.
func (r *report) judge(w io.Writer) (status int) {
	for _, p := range r.Packages {
		if len(p.TooLarge) > 0 {
			fmt.Fprintf(w, "house: %s: %s: too large (move a part that the rest names seldom into a package of its own)\n", p.Folder, strings.Join(p.TooLarge, ", "))
			status = 1
		}
	}
	return status
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// columns are the headings of the figures.
const columns = "lines\tfiles\tfunc\ttype\tmethod\tconst\tvar\tfield\tdocumented\tin cycles\tlargest type\tlongest function\t"

func (r *report) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "package\t%s\n", columns)
	for _, p := range r.Packages {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Folder, p.cells(), strings.Join(p.TooLarge, ", "))
	}
	fmt.Fprintf(t, "\narea, everything below\t%s\n", columns)
	for _, a := range r.Areas {
		note := ""
		if a.TooLarge > 0 {
			note = fmt.Sprintf("%d of %d packages too large", a.TooLarge, a.Packages)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", a.Folder, a.cells(), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeWazero(w)
}

// writeCycles lists the files that use each other in a circle, and which names they use. A
// cycle ends when one of these declarations moves to the file that uses it.
func (r *report) writeCycles(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Packages {
		for _, group := range p.Cycles {
			fmt.Fprintf(&b, "%s: %d files use each other in a circle: %s\n", p.Folder, len(group), strings.Join(group, ", "))
			for _, ref := range p.References {
				if slices.Contains(group, ref.From) {
					fmt.Fprintf(&b, "  %s uses of %s: %s\n", ref.From, ref.To, strings.Join(ref.Names, ", "))
				}
			}
		}
	}
	if b.Len() == 0 {
		b.WriteString("No files use each other in a circle.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells returns the figures as cells of the table.
func (f *figures) cells() string {
	documented := "-"
	if all := f.exported() + f.Fields; all > 0 {
		documented = fmt.Sprintf("%d %%", 100*f.Documented/all)
	}
	longest := "-"
	if f.Longest.Lines > 0 {
		longest = fmt.Sprintf("%s %d", f.Longest.Name, f.Longest.Lines)
	}
	largest := "-"
	if f.Largest.Methods > 0 {
		largest = fmt.Sprintf("%s %d", f.Largest.Type, f.Largest.Methods)
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%s\t%s", f.Lines, f.Files, f.Functions, f.Types, f.Methods,
		f.Constants, f.Variables, f.Fields, documented, f.InCycles, largest, longest)
}

// writeWazero lists the packages below host that use more than wazero's stable interface.
func (r *report) writeWazero(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Packages {
		if p.area() == "host" && len(p.Experimental)+len(p.Unsafe) > 0 {
			fmt.Fprintf(&b, "%s: experimental in %s, unsafe in %s\n", p.Folder, list(p.Experimental), list(p.Unsafe))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nPackages that import wazero's experimental packages, or \"unsafe\" beside wazero:\n%s", b.String())
	return err
}

// list formats a list of files and their number.
func list(files []string) string {
	if len(files) == 0 {
		return "no file"
	}
	return fmt.Sprintf("%d (%s)", len(files), strings.Join(files, ", "))
}
