// Package fleet turns the contexts of a kubeconfig into clusters, and asks all
// of them at once.
//
// Load reads the kubeconfig and selects contexts; Open finds out which cluster
// each of them reaches; Ask puts one question to every cluster and gives an
// answer or an error for each, in an order that does not depend on who
// answered first.
package fleet
