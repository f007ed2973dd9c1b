package core

// vector is the vector of a text. It is shared by copies of an item.
type vector struct {
	model, content string
	values         []float32
}

// SetVector gives the item the vector of its content. model names the model that made it; vectors
// of different models cannot be compared. The vector is for steps that compare items by meaning,
// and no document has it. It is valid as long as the content stays the same, and must not be
// changed afterwards. Without values the item has no vector.
func (it *Item) SetVector(model string, values []float32) {
	if it.vector = nil; len(values) > 0 {
		it.vector = &vector{model, it.Content, values}
	}
}

// Vector returns what SetVector has given. values is nil if there is none, or if the content has
// changed since. It must not be changed.
func (it *Item) Vector() (model string, values []float32) {
	if it.vector == nil || it.vector.content != it.Content {
		return "", nil
	}
	return it.vector.model, it.vector.values
}
