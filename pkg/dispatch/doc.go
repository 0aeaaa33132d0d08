// Package dispatch runs a Job of one cluster on another, or an object of another
// kind that can be delegated: it plans the mirror, checks that both clusters would
// take it, makes it, and then copies the mirror's status to the origin, and what the
// user changes on the origin to the mirror, until the Job is finished.
//
// Data runs one way: an origin becomes a Plan, Preflight tells what stands in its
// way, and a Loop does it. What is pure is apart from what asks or writes: the
// plan, the drift between a mirror and its plan, and the projection of a status
// (package projection) know no server.
//
// What is known of a kind is its row in the table of package delegation. Beside that,
// one thing differs: of a Job, the API server judges every status, and knows what may
// change in its spec (jobWorkload); of all others the status is copied as it is
// (anyWorkload).
//
// Nothing is ever written to an object that does not carry our marks, and every write
// names the uid and the resource version of the object that it means.
package dispatch
