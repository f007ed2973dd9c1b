// Package plugin finds the documents of a folder that match a query: it joins
// the reader of package corpus with the index of package bm25.
package plugin
