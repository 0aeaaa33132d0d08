// Package bundle writes snapshots of a fleet, and reads one as if it were a
// fleet.
//
// A bundle is a folder: snapshot.yaml tells which contexts there were and when,
// and for each context that could be read there is a v1 List of what it held: Jobs
// and objects of all other kinds that can be delegated, and what concerns them.
// Which of these kinds were served snapshot.yaml tells too, so that no objects of a
// kind can be told from no such kind.
// Take has a fleet read by the reader of all commands (read.Whole), and records what that is
// sent; Recording.Write writes the folder, Open reads it back: each context gets an API server
// in memory that answers from its List, so that whatever reads clusters reads bundles, too.
package bundle
