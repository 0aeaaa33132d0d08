// Package read reads the clusters of a fleet into the model of package inspect: both what was read
// and what could not be read, as data.
package read
