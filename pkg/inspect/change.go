package inspect

// ChangeType is the type of a Change.
type ChangeType string

const (
	// Added, Modified and Deleted are changes of a Job, named as the API's watch events.
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
	// Synced follows once all existing Jobs were reported as Added.
	Synced ChangeType = "SYNCED"
	// Lost reports that the cluster does not answer; retries continue. Found reports that it
	// answers again.
	Lost  ChangeType = "LOST"
	Found ChangeType = "FOUND"
)

// Change is one event on one cluster.
type Change struct {
	Type    ChangeType
	Context string
	// Job is set for Added, Modified and Deleted. It must not be modified.
	Job *Job
	// Origin is the origin of which Job is a mirror, nil if there is none or it is unknown.
	Origin *Job
	// Err is set for Lost.
	Err error
}
