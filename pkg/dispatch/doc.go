// Package dispatch runs a Job of one cluster on another, or an object of another delegable kind.
// A Loop creates the mirror. Then it copies the mirror's status to the origin, and the user's
// changes of the origin to the mirror, until the Job is finished. A Canceller ends a dispatch
// from outside. Both report what happens as Events.
//
// Data flows one way through the packages below this one. The origin comes from a file (manifest)
// or a cluster. Package plan derives the mirror from it, preflight finds the problems that would
// keep the mirror from running, and the Loop runs it with the help of fleet, dependency and
// projection. Package recreate is separate: it gives an object another owner. Pure packages are
// separate from those that send requests: command, content, object, plan, podtemplate and
// projection know no server.
//
// Package delegation has one table row for each kind, with all facts about it. Only one thing
// differs between kinds in code. The API server validates each status of a Job, and knows which
// fields of its spec may change (jobWorkload, plan.DriftOf). The status of all other kinds is
// copied unchanged (anyWorkload).
//
// This package writes only to origins that name the user's owner, to objects with our marks, and to
// the origin's Lease. CreateOrigin also deletes an object that it has just created without managedBy.
// Every write names the UID and the resource version of its object. Only a new owner of a copied
// ConfigMap or Secret names the UID alone: mirrors add themselves at the same time, and a resource
// version would make all but one fail.
package dispatch
