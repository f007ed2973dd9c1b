// Package audit keeps a log of who did what, in which a change can be found later.
//
// Each line is a JSON object with the SHA-256 of the line before it. Now and then, when a file is
// full, and at the end comes a head: a line with a signature, which covers all lines before it.
// [Verify] finds the first line that was changed, removed or added.
//
// What a chain cannot show is that its end is missing. After the last head that is known, anything
// may have been cut off. So keep heads elsewhere, such as in the log of the service, which has each
// of them, and give the newest one to Verify. Who has the key can write another log altogether.
//
// A line says who acted, for which tenant, what was done, on what, with which result, and the id of the
// request. It has no content: what was acted on is named by a digest.
//
// A signature covers everything before it, so one for many lines is enough. Whoever takes over the
// machine can change the lines after the last head.
package audit
