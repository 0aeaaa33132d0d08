// Package kueue tests the plugin on a real MultiKueue of Kueue's own programs: one management
// cluster and two workers. The environment variable KUEUE is the directory of another version than
// the one that make kueue builds (make test-kueue).
package kueue
