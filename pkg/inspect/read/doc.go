// Package read asks the clusters of a fleet, and turns what they answer into the model
// that package inspect is: what was read, and what could not be read, as data.
package read
