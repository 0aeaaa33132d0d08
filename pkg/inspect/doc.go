// Package inspect models delegated objects and related ones, their clusters, and the relations
// between them. It knows no client: package read fills it.
//
// Reading and judging are separate. What was read, and what could not be read, is data; judging is
// a pure function of it. So a one-shot listing, a watch and a recorded snapshot give the same
// result.
package inspect
