package inspect

// ChangeType says what a Change tells.
type ChangeType string

const (
	// Added, Modified and Deleted tell of a Job, in the API's own words for
	// watch events.
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
	// Synced tells that all Jobs there were have been told as Added.
	Synced ChangeType = "SYNCED"
	// Lost tells that the cluster does not answer; it is tried again until it
	// does. Found tells that it answers again.
	Lost  ChangeType = "LOST"
	Found ChangeType = "FOUND"
)

// Change is one thing that happened on one cluster.
type Change struct {
	Type    ChangeType
	Context string
	// Job is set for Added, Modified and Deleted. Nobody may change it.
	Job *Job
	// Origin is the Job that Job is the mirror of, nil where it is none or that is unknown.
	Origin *Job
	// Err is set for Lost.
	Err error
}
