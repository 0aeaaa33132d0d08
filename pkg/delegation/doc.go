// Package delegation is the domain that everything else stands on: which
// kinds of objects can delegate their reconciliation, who the owner of an
// object is, and what its status says.
//
// It reads no cluster and knows no clock; everything in it is a pure function
// of the object that is handed in.
package delegation
