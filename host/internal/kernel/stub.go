package kernel

import (
	"encoding/binary"
	"slices"
)

// Function is a function of a module, with types in their binary encoding.
type Function struct {
	Name            string
	Params, Results []byte
}

// stubTable is the export name of the table of a stub.
const stubTable = "table"

// FillModule is the module name under which the module of [Filler] imports the table of the
// stub. It imports the functions from the module named [FillFrom].
const (
	FillModule = "stub"
	FillFrom   = "from"
)

// Stub returns a module that takes the place of one that does not exist yet. It exports the
// functions. They trap until the module of [Filler] has put the functions of the real module
// into the table of the stub.
func Stub(functions []Function) []byte {
	var types, declared, exports, bodies [][]byte
	for i, f := range functions {
		types = append(types, f.encode())
		declared = append(declared, binary.AppendUvarint(nil, uint64(i)))
		exports = append(exports, named(f.Name, indexed(kindFunc, i)...))
		c := new(code)
		for p := range f.Params {
			c.get(uint64(p))
		}
		c.i32(int64(i)).u(opCallIndirect, uint64(i)).op(0).end()
		bodies = append(bodies, sized(append(vector(nil), c.b...)))
	}
	exports = append(exports, named(stubTable, indexed(kindTable, 0)...))
	return assembled(
		section{secType, types}, section{secFunction, declared}, section{secTable, [][]byte{tableType(len(functions))}},
		section{secExport, exports}, section{secCode, bodies},
	)
}

// Filler returns a module that puts the functions into the table of their stub when it is
// instantiated. It imports the table from FillModule and the functions from FillFrom.
func Filler(functions []Function) []byte {
	var types, imports, places [][]byte
	imports = append(imports, slices.Concat(named(FillModule), named(stubTable), []byte{kindTable}, tableType(len(functions))))
	for i, f := range functions {
		types = append(types, f.encode())
		imports = append(imports, slices.Concat(named(FillFrom), named(f.Name), indexed(kindFunc, i)))
		places = append(places, binary.AppendUvarint(nil, uint64(i)))
	}
	// An active segment that begins at element 0.
	segment := slices.Concat([]byte{0}, new(code).i32(0).end().b, vector(places))
	return assembled(section{secType, types}, section{secImport, imports}, section{secElement, [][]byte{segment}})
}

// encode returns the encoded type of the function.
func (f Function) encode() []byte {
	return slices.Concat([]byte{0x60}, sized(f.Params), sized(f.Results))
}

// tableType returns the encoded type of a table of exactly n functions.
func tableType(n int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{0x70, 1}, uint64(n)), uint64(n))
}
