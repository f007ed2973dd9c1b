// Package docs has tests that compare the project's documents with the code.
package docs
