package liveness

import (
	"fmt"
	"time"
)

// Actor identifies a controller process, or a set of processes that run and fail together.
type Actor struct {
	Role Role
	// Context is the cluster that the actor works for.
	Context string
	// Name distinguishes actors of one role on one cluster. It is the managedBy value for
	// RoleOwner, the Lease's holder for RoleDispatcher, the kind for RoleController, the node for
	// RoleKubelet, the controllerName for RoleCheck, and the name of a scheduler other than the
	// default one. Otherwise it is "".
	Name string
}

// Role is the type of an actor.
type Role string

// The roles.
const (
	// RoleKueue is Kueue's controller manager; on a management cluster this includes MultiKueue.
	RoleKueue Role = "Kueue"
	// RoleJobController is the built-in controller of Jobs.
	RoleJobController Role = "the Job controller"
	// RoleTTL is the built-in controller that deletes finished Jobs after their ttlSecondsAfterFinished.
	RoleTTL Role = "the TTL controller"
	// RoleController is the built-in controller of another kind.
	RoleController Role = "the controller"
	// RoleScheduler is a scheduler of Pods.
	RoleScheduler Role = "the scheduler"
	// RoleKubelet is the kubelet of a node, which starts its Pods.
	RoleKubelet Role = "the kubelet"
	// RoleCheck is a controller that handles AdmissionChecks.
	RoleCheck Role = "the controller of AdmissionChecks"
	// RoleDispatcher is a process of the command dispatch.
	RoleDispatcher Role = "dispatch"
	// RoleOwner is the controller that a managedBy names, if no other role fits.
	RoleOwner Role = "the owner"
)

// String names the actor, such as "Kueue on kwok-mgr".
func (a Actor) String() string {
	switch {
	case a.Role == RoleOwner:
		return fmt.Sprintf("%s on %s", a.Name, a.Context)
	case a.Role == RoleController:
		return fmt.Sprintf("%s of %ss on %s", a.Role, a.Name, a.Context)
	case a.Role == RoleKubelet:
		return fmt.Sprintf("%s of node %s on %s", a.Role, a.Name, a.Context)
	case a.Name != "" && (a.Role == RoleScheduler || a.Role == RoleCheck):
		return fmt.Sprintf("%s %s on %s", a.Role, a.Name, a.Context)
	case a.Name != "":
		return fmt.Sprintf("%s by %s on %s", a.Role, a.Name, a.Context)
	}
	return fmt.Sprintf("%s on %s", a.Role, a.Context)
}

// Duty is a step that an actor takes, worded so that it can follow "waits for".
type Duty string

// The duties. The steps of MultiKueue are in their order: docs/reference/multikueue.md#steps.
const (
	// DutyAny is an action that only shows that the actor was active.
	DutyAny Duty = ""

	DutyWorkload Duty = "a Workload"
	DutyQuota    Duty = "a quota decision"
	DutyNominate Duty = "a nomination of clusters"
	DutyAdmit    Duty = "admission"
	DutyCopy     Duty = "a copy of the Workload"
	DutyGate     Duty = "an open preemption gate"
	DutyMirror   Duty = "a mirror"
	DutyRecord   Duty = "the record of the cluster that admitted it"
	DutyWithdraw Duty = "the withdrawal of its admission"
	DutyResume   Duty = "being resumed"
	DutySpec     Duty = "the new size on the mirror"
	DutyStatus   Duty = "the mirror's status"
	DutyEnd      Duty = "the mirror's last status"
	DutyStop     Duty = "being stopped"
	DutyRelease  Duty = "quota to be released"
	DutyRemove   Duty = "being deleted"

	DutyPickUp   Duty = "being picked up"
	DutyPods     Duty = "Pods"
	DutySchedule Duty = "nodes for Pods"
	DutyStart    Duty = "Pods being started"
	DutyServe    Duty = "being served"
)

// Duties returns all duties except DutyAny, in the order of reports.
func Duties() []Duty {
	return []Duty{
		DutyWorkload, DutyQuota, DutyAdmit, DutyNominate, DutyCopy, DutyGate, DutyMirror, DutyRecord, DutyWithdraw, DutyResume, DutySpec, DutyStatus, DutyEnd,
		DutyStop, DutyRelease, DutyRemove, DutyPickUp, DutyPods, DutySchedule, DutyStart,
		DutyServe,
	}
}

// PendingAction is a step that an actor must take next on an object.
type PendingAction struct {
	Actor Actor
	Duty  Duty
	// Target is the context of the cluster where the duty is done, "" for the actor's own.
	Target string
	// Workers are the contexts of all clusters that the actor must be connected to.
	Workers []string
	// Subject is the object. Aliases are objects that a user takes for the same one. The actor's
	// other actions for Subject and Aliases say nothing about this one.
	Subject string
	Aliases []string
	// Since is when the action became due, by our own clock (see inspect.Inventory.ToOurClock).
	Since time.Time
}

// Action is an observed action of an actor. Times are by our own clock.
type Action struct {
	Duty    Duty
	Target  string
	Subject string
	// Worker is the context of the cluster that the action needed a connection to, "" for none.
	Worker string
	// Due is when the object began to wait for the action, the zero time if unknown. At is when
	// the action happened.
	Due, At time.Time
	// MixedWait is whether the object may also have waited for another event since Due. The time
	// from Due to At is then no latency of the actor.
	MixedWait bool
}

// latency returns how long the action took; ok is false if that is unknown.
func (a Action) latency() (time.Duration, bool) {
	if a.Due.IsZero() || a.MixedWait {
		return 0, false
	}
	return max(0, a.At.Sub(a.Due)), true
}

// SubjectOf returns the subject for an object or Workload with this namespace and name.
func SubjectOf(namespace, name string) string { return namespace + "/" + name }
