// Package authoring turns source code into plugins: it writes new projects and
// builds them into one .wasm each, with the manifest inside.
//
//	err := authoring.New(authoring.Project{Name: "keep-best", Language: "go", Kind: "filter"})
//	built, err := authoring.Build(ctx, authoring.BuildOptions{Dir: "keep-best"})
//
// # Projects
//
// A project is a folder with plugin.yaml and the source of one plugin. Which
// language it is in shows by a file it has, see [Detect]. A copy of the helper
// library of its language lies in the project's folder anchor, so that it builds
// without anything that is not in a public registry.
//
// # Toolchains
//
// How a language is built stands in one place, its [Toolchain]: which programs it
// takes, how to get them, and the commands that are run. Programs are looked up
// in PATH and, for those that come from npm, in the project's node_modules.
//
// # Templates
//
// The folder templates has a folder per language and, in it, one per kind, which
// is an operation. Files that end in .tmpl are text templates over [Project] and
// lose that ending; others are copied. Files of the folder common, of all
// languages or of one, are part of every project unless a closer folder has them
// too.
package authoring
