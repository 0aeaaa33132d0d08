// Package cache keeps lists of a cluster current with watches, and tracks whether the cluster
// answers. It knows neither contexts nor identities: callers pass in the requests.
package cache
