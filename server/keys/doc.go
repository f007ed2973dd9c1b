// Package keys says who sends a request: by API keys, whose file has only their digests.
//
// A key is written ah_<id>_<secret>. The id finds the key in the file and is no secret. The secret
// has 32 random letters and digits, some 190 bits; the file has its SHA-256. So the file does not
// help to send a request, and a fast digest is enough: nobody guesses 190 bits.
//
// [Store] answers requests from a file that was read as a whole. A file with a mistake changes
// nothing. [Edit] changes the file, one process after another.
package keys
