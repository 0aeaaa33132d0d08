// Package bundle writes snapshots of a fleet, and serves a snapshot as if it were a fleet.
//
// A snapshot is a directory. snapshot.yaml lists its contexts and the time. For each readable
// context there is a v1 List of its objects: Jobs, objects of all other delegable kinds, and
// related objects. snapshot.yaml also lists which of these kinds were served, so that a kind
// without objects differs from a missing kind.
//
// Take makes the reader of all commands (read.Whole) read a fleet, and records what it receives.
// Recording.Write writes the directory. Open reads it: each context gets an API server in memory
// that answers from its List, so that every reader of clusters can read snapshots, too.
package bundle
