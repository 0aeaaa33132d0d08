// Package bundle writes snapshots of a fleet, and reads one as if it were a
// fleet.
//
// A bundle is a folder: snapshot.yaml tells which contexts there were and when,
// and for each context that could be read there is a v1 List of what it held.
// Take reads a fleet, Recording.Write writes the folder, Open reads it back:
// each context gets an API server in memory that answers from its List, so that
// whatever reads clusters reads bundles, too.
package bundle
