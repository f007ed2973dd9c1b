package static

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// table has a vector for each token.
type table struct {
	dimension int
	vectors   []float32 // of all rows
	weights   []float32 // of the tokens; nil: all the same
	rows      []uint32  // of the tokens; nil: their numbers
	digest    string
}

// readTable reads a file. name is that of the matrix, or empty.
func readTable(path, name string) (*table, error) {
	t, f, err := openTensors(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := t.table(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func (t *tensors) table(name string) (*table, error) {
	name, err := t.matrix(name)
	if err != nil {
		return nil, err
	}
	m, sum := t.all[name], sha256.New()
	out := &table{dimension: int(m.Shape[1])}
	if out.vectors, err = t.numbers(&m, sum); err != nil {
		return nil, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	if err := t.extras(out, int(m.Shape[0]), sum); err != nil {
		return nil, err
	}
	out.digest = hex.EncodeToString(sum.Sum(nil))
	return out, nil
}

// extras reads the weights and the mapping, if the file has them.
func (t *tensors) extras(out *table, rows int, sum hash.Hash) (err error) {
	if m, ok := t.all["mapping"]; ok {
		if out.rows, err = t.rows(&m, rows, sum); err != nil {
			return fmt.Errorf("tensor mapping: %w", err)
		}
	}
	if w, ok := t.all["weights"]; ok {
		if out.weights, err = t.numbers(&w, sum); err != nil {
			return fmt.Errorf("tensor weights: %w", err)
		}
		if len(out.weights) != out.tokens() {
			return fmt.Errorf("tensor weights: %d numbers for %d tokens", len(out.weights), out.tokens())
		}
	}
	return nil
}

// tokens returns how many tokens have a vector.
func (t *table) tokens() int {
	if t.rows != nil {
		return len(t.rows)
	}
	return len(t.vectors) / t.dimension
}

// matrix returns the name of the matrix with the vectors.
func (t *tensors) matrix(name string) (string, error) {
	var found []string
	for _, n := range slices.Sorted(maps.Keys(t.all)) {
		if one := t.all[n]; len(one.Shape) == 2 && isFloat(one.Type) && (name == "" || n == name) {
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 0 && name != "":
		return "", fmt.Errorf("no matrix %.100q (it has %s)", name, t.names())
	case len(found) == 0:
		return "", fmt.Errorf("no matrix of F32, F16 or BF16 (it has %s)", t.names())
	case len(found) > 1:
		return "", fmt.Errorf("%d matrices (choose one with tensor; a static table has one vector for each token)", len(found))
	}
	shape := t.all[found[0]].Shape
	if shape[0] == 0 || shape[1] == 0 || shape[1] > retrieve.MaxDimension {
		return "", fmt.Errorf("tensor %.100q: shape %v (want tokens, and 1 to %d dimensions)", found[0], shape, retrieve.MaxDimension)
	}
	return found[0], nil
}

// names lists the tensors for a message.
func (t *tensors) names() string {
	if len(t.all) == 0 {
		return "no tensors"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		if len(list) == 5 {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("%.60q of %.10s %v", name, t.all[name].Type, t.all[name].Shape))
	}
	return strings.Join(list, ", ")
}
