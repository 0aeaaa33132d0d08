// Package fleet turns the contexts of a kubeconfig into clusters, and asks all of them at once.
//
// Load reads the kubeconfig and selects contexts. Open finds out which cluster each of them
// reaches. Ask asks each cluster one question and returns an answer or an error for each, in a
// fixed order.
package fleet
