// Package kubecontext is what is told of a kubeconfig's context without asking its
// cluster, or after having asked in vain: where it leads to, how far its clock is off, and
// why there was no answer. It is pure: what judges may import it, and imports no client
// with it.
package kubecontext
