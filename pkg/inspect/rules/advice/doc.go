// Package advice writes the remedies of findings: what a person can do, with the commands for it.
package advice
