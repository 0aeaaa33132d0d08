// Package kubecontext describes a kubeconfig's context without its cluster, or after the cluster
// did not answer: its address, the skew of its clock, and the reason for a missing answer. It is
// pure, so rules can import it without a client.
package kubecontext
