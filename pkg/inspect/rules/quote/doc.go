// Package quote writes the evidence of findings: sentences that quote fields of objects, with the
// context that they were read from.
package quote
