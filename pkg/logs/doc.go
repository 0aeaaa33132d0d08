// Package logs reads the logs of a Job's pods on the cluster that runs them.
//
// Place finds out from an inventory where the pods are; Reader reads what there
// is of their logs, or follows them on one cluster; Tracker follows a Job from
// cluster to cluster until it has ended. No line is lost or repeated where a
// connection breaks or a container is restarted, as far as the kubelet still has
// it: it keeps the log of a container's present run and of the one before.
package logs
