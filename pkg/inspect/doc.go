// Package inspect is the model of delegated objects and their like, of the clusters that
// they are on, and of how they belong together. It knows no client: package read fills it.
//
// Reading and judging are apart: what was read, and what could not be read,
// is data; judging is a pure function of it. So a one-shot listing, a watch and
// a recorded bundle come to the same result.
package inspect
