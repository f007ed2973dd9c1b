// Package quota decides which requests of a service run, and when.
//
// A [Limiter] holds tenants and keys to their [Limits]: who has used too much is refused and told
// when to come back. A [Queue] stands in front of the builds. It shares them among tenants, is
// bounded by the number and the size of the requests that wait, and refuses those that would
// wait in vain. [Admission] is both, as a service takes it.
//
// All times are measured with the monotonic clock. So nothing happens if the clock of the system
// jumps. Only the day of what may be spent is that of the system. What was spent is kept by who
// keeps the costs, by day, so it survives a restart.
//
// A tenant may use more than is left of its limit in one build, because fuel and tokens are known
// only when a build ends; the debt comes out of the time that follows. golang.org/x/time/rate has
// no debts. The place of a build that ended waits for its tenant, for as long as the build took
// and a quarter of a second at most: a client that sends one request after another is never in the
// queue when its place becomes free, and would get 1 to 9 % of its share beside a flood instead of
// all of it.
package quota
