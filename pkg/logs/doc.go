// Package logs reads the logs of a Job's Pods on the cluster that runs them.
//
// Place finds the Pods in an inventory. Reader reads their existing logs, or follows them on one
// cluster. Tracker follows a Job from cluster to cluster until it has ended. No line is lost or
// repeated when a connection breaks or a container restarts, as far as the kubelet still has it:
// it keeps the logs of a container's current run and the one before.
package logs
