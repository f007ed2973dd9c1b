// Package trust signs plugins and checks who signed them. Everything works without a network.
//
// Three forms of signatures are read, and the first two are written:
//
//   - An envelope ([DSSE]) over an in-toto Statement about the manifest of an artifact in a
//     registry: [SecretKey.SignStatement], [Policy.Verify].
//   - A minisign signature beside the file of a module: [SecretKey.SignFile], [VerifyFile]. The
//     program minisign reads and writes the same signatures and keys.
//   - Signatures that cosign makes with a key, in its old form (a payload of its own) and in its
//     new one (a bundle): [Policy.Verify].
//
// A [Policy] says whose signatures count for which artifacts. Signatures have no end: a key that
// is lost or stolen is put on the list of revoked keys.
//
// [DSSE]: https://github.com/secure-systems-lab/dsse
package trust
