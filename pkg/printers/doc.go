// Package printers prints the model: tables for people, documents for programs. It is the only
// package that knows colours, and it writes only to the writers that it is given.
package printers
