package migrate

// Place is [Moved] for the path of any value, such as one in a section that moved.
func Place(path string) (to string, ok bool) {
	to, _, ok = follow(path)
	return to, ok
}
