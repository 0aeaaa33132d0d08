// Package kueue tests the plugin on a live MultiKueue of Kueue's own programs: one cluster
// manages, two work. The environment variable KUEUE names the directory of another version
// than the one that make kueue builds (make test-kueue).
package kueue
