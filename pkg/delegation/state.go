package delegation

import "time"

// StateOf returns the state of an object's content in JSON types, including the counters of Pods
// for a batch/v1 Job. statusWritten is whether managedFields shows that the status was ever
// written; a status that is not empty shows it, too.
func (k Kind) StateOf(content map[string]any, statusWritten bool) State {
	s := State{Content: content, Deleting: TextAt(content, "metadata", "deletionTimestamp") != ""}
	s.Suspend = shows(k.Indicators.Suspend, s)
	status, _ := content["status"].(map[string]any)
	s.StatusWritten = statusWritten || len(status) > 0
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		status := TextAt(c, "status")
		// A missing or malformed time remains zero.
		since, _ := time.Parse(time.RFC3339, TextAt(c, "lastTransitionTime"))
		s.Conditions = append(s.Conditions, Condition{
			Type: TextAt(c, "type"), Reason: TextAt(c, "reason"), Message: TextAt(c, "message"),
			True: status == "True", Status: status, Since: since,
		})
	}
	if k.IsJob() {
		s.Active, s.Succeeded, s.Failed = count(status["active"]), count(status["succeeded"]), count(status["failed"])
		if _, ok := status["ready"]; ok {
			ready := count(status["ready"])
			s.Ready = &ready
		}
	}
	return s
}

func count(value any) int32 {
	n, _ := number(value)
	return int32(n)
}
