// Package core defines what the packages of a pipeline share: the items, queries, turns and
// messages of a build with their JSON forms, the window that items are put into, and the
// tokenizer that counts them. Package pipeline has aliases of these types. This page lists
// their methods.
package core
