// Package kueue tests the plugin on a live MultiKueue: one cluster manages, two work, and on
// each runs Kueue's own program, of the version in the folder that the environment variable
// KUEUE names (make test-kueue). What package multikueue plays elsewhere, it does itself here.
package kueue
