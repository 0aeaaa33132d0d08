// Package delegation is the domain on which all other packages are based: which kinds of objects
// can delegate their reconciliation, who owns an object, and what its status means.
//
// It reads no cluster and no clock. All functions are pure functions of the given object.
package delegation
