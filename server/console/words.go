package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// words are the functions of the templates. Every text that comes from outside goes through one of
// line, short and text, which show what acts on a terminal or turns the direction of writing.
var words = template.FuncMap{
	"line": plain.Line, "short": short, "text": longText, "time": when, "iso": iso, "ms": millis, "count": count, "size": size,
	"percent": percent, "dollars": dollars, "digest": shortDigest, "fixed": func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) },
	"seconds": func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"zero":    time.Time.IsZero,
	"dash": func(s string) string {
		if s == "" {
			return "–"
		}
		return s
	},
	"table": func(rows []buildRow, tenants, pick bool) buildTable { return buildTable{rows, tenants, pick} },
	"join":  func(list []string) string { return strings.Join(list, ", ") },
}

// Lengths of texts in characters.
const (
	shortLength = 80
	textLength  = 20_000
)

// short is the beginning of a text, on one line.
func short(s string) string { return begin(plain.Line(s), shortLength) }

// longText is a text of several lines, cut after many characters.
func longText(s string) string { return begin(plain.Text(begin(s, textLength)), 2*textLength) }

func begin(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// digest stands for a text that the user may not see.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// shortDigest is the beginning of a digest, which is enough to tell two apart.
func shortDigest(s string) string { return short(s[:min(len(s), len("sha256:")+12)]) }

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// millis writes a time in milliseconds.
func millis(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 1):
		return "longer"
	case x >= 10_000:
		return fmt.Sprintf("%.1f s", x/1000)
	case x >= 100:
		return fmt.Sprintf("%.0f ms", x)
	case x >= 1:
		return fmt.Sprintf("%.1f ms", x)
	}
	return fmt.Sprintf("%.2f ms", x)
}

// count writes a number with a unit of thousands, millions or more.
func count(n any) string {
	x, whole := 0.0, false
	switch n := n.(type) {
	case int:
		x, whole = float64(n), true
	case int64:
		x, whole = float64(n), true
	case float64:
		x = n
	}
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case a >= 1e10:
		return fmt.Sprintf("%.1f G", x/1e9)
	case a >= 1e7:
		return fmt.Sprintf("%.1f M", x/1e6)
	case a >= 1e4 && !whole:
		return fmt.Sprintf("%.1f k", x/1e3)
	case whole || a >= 100 || a == 0:
		return grouped(int64(x))
	case a < 10:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// grouped writes a number with a thin space between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}
