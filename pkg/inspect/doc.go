// Package inspect reads delegated objects and their like from a fleet of
// clusters and turns them into a model that knows no cluster.
//
// Reading and judging are apart: what was read, and what could not be read,
// is data; judging is a pure function of it. So a one-shot listing, a watch and
// a recorded bundle come to the same result.
package inspect
