// Package chain follows one Job from its origin over queues, Workloads and clusters to its Pods.
//
// Trace returns the whole of it as a document: the hops, what happened when, and which states the Job
// went through. Follow leaves out the dates, and Traces the hops.
package chain
