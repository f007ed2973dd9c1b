// Package authoring turns source code into plugins. It writes new projects, and builds each
// into one .wasm file that contains the manifest.
//
//	err := authoring.New(authoring.Project{Name: "keep-best", Language: "go", Kind: "filter"})
//	built, err := authoring.Build(ctx, authoring.BuildOptions{Dir: "keep-best"})
//
// # Projects
//
// A project is a folder with plugin.yaml and the source of one plugin. [Detect] finds its
// language by the files in it. The project's folder anchor has a copy of the helper library
// of that language, so that the project builds with public registries only.
//
// # Toolchains
//
// The [Toolchain] of a language says how to build it: which programs are necessary, how to
// get them, and which commands to run. Programs are looked up in PATH and, for those that
// come from npm, in the project's node_modules.
//
// # Templates
//
// The folder templates has a folder for each language, and in it one for each kind of
// plugin. The folder kinds has what the projects of a kind share: plugin.yaml and the cases of
// the folder tests. Files that end in .tmpl are text templates that are executed with a [Project] and
// lose that ending; others are copied. A folder common, for one language or for all, has
// files for every project. A file of the same name in a more specific folder replaces them.
package authoring
