// Package docs holds the tests that keep the project's documents true.
package docs
