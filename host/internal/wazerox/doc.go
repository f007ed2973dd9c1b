// Package wazerox holds everything that the host takes from wazero without a promise of
// wazero's: fields that are reached by reflection, texts of errors, names of files, and
// the experimental packages. No other package does.
//
// Each such thing is a [Feature]. It has a name, a probe that tries it out once in a
// process, and the versions of wazero that the tests ran with. With other versions, and
// where the probe fails, the feature is off and the host does without it; [Feature.Without]
// says how. [Look] tells what is on.
//
// What is not a feature has no way around it and nothing to try out: [Workers],
// [MemoryOf], [Code], [GoFunction] and the constants of limits.go. The first three do no harm
// where wazero is made otherwise, and the fourth says so by an error.
package wazerox
