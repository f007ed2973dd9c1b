// Package plugin finds the documents of a folder that match a query. It indexes the
// documents of package corpus with package bm25.
package plugin
