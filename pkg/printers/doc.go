// Package printers draws the model: tables for people, documents for programs.
// It is the only package that knows colour, and it writes to nothing but the
// writers it is handed.
package printers
