// Package dispatch runs a Job of one cluster on another, or an object of another
// kind that can be delegated: a Loop makes the mirror, and then copies the mirror's
// status to the origin, and what the user changes on the origin to the mirror, until
// the Job is finished. A Canceller ends that from outside. What happens is told in
// Events.
//
// Data runs one way, through the packages below this one: what manifest reads from a
// file, or a cluster has, is an origin; plan makes of it what its mirror is to be;
// preflight tells what stands in its way; and the Loop does it, with the help of
// the fleet's clusters, dependency and projection. Package recreate stands beside it: it gives an
// object another owner. What is pure is apart from what asks or writes: command,
// content, object, plan, podtemplate and projection know no server.
//
// What is known of a kind is its row in the table of package delegation. Beside that,
// one thing differs: of a Job, the API server judges every status, and knows what may
// change in its spec (jobWorkload, and plan.DriftOf); of all others the status is copied
// as it is (anyWorkload).
//
// Nothing is ever written to an object that does not carry our marks, and every write
// names the uid and the resource version of the object that it means.
package dispatch
