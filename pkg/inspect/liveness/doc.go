// Package liveness says which controller must act next on an object, and whether that controller is
// alive.
//
// An Actor is a controller, a scheduler, a kubelet or a dispatcher. Objects show its actions: their
// conditions, creation times, statuses and managed fields. Of returns the Records of all actors of
// an inventory. Records.Assess compares a PendingAction with the actor's actions for other objects.
package liveness
