package validation

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rule is a requirement of the API server for a status.
type rule struct {
	number int
	// field is the field of the error, without "status." and the index in a list.
	field string
	// text is a part of the message.
	text string
}

// rules are those of Kubernetes 1.37 for a Job's status, with the numbers that
// pkg/dispatch/projection uses for them; 24 and 25 are of servers before 1.31. Rule 33 is missing,
// because it is about metadata, which is not written here.
var rules = []rule{
	{1, "", "must be greater than or equal to 0"},
	{2, "uncountedTerminatedPods", "must not be empty"},
	{3, "uncountedTerminatedPods", "Duplicate value"},
	{4, "conditions", "cannot set Complete=True and Failed=true conditions"},
	{5, "conditions", "cannot set Complete=True and FailureTarget=true conditions"},
	{6, "completionTime", "when there is no Complete=True condition"},
	{7, "completionTime", "completionTime is required for Complete jobs"},
	{8, "completionTime", "must be equal to or after `startTime`"},
	{9, "conditions", "without the FailureTarget=true condition"},
	{10, "conditions", "without the SuccessCriteriaMet=true condition"},
	{11, "active", "active>0 is invalid for finished job"},
	{12, "startTime", "startTime is required for finished job"},
	{13, "uncountedTerminatedPods", "must be empty for finished job"},
	{14, "terminating", "terminating>0 is invalid for finished job"},
	{15, "ready", "cannot set more ready pods than active"},
	{16, "completedIndexes", "error parsing completedIndexes"},
	{17, "failedIndexes", "error parsing failedIndexes"},
	{18, "completedIndexes", "when non-indexed completion mode"},
	{19, "failedIndexes", "when backoffLimitPerIndex is null"},
	{20, "failedIndexes", "failedIndexes and completedIndexes overlap"},
	{21, "conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions"},
	{22, "conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
	{23, "conditions", "for Job with SuccessPolicy unless SuccessCriteriaMet=True"},
	{24, "conditions", "cannot set SuccessCriteriaMet to NonIndexed Job"},
	{25, "conditions", "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy"},
	{26, "conditions", "cannot disable the terminal"},
	{27, "conditions", "cannot disable the SuccessCriteriaMet=True condition"},
	{28, "conditions", "for Job already has Complete=true conditions"},
	{29, "failed", "cannot decrease the failed counter"},
	{30, "succeeded", "cannot decrease the succeeded counter"},
	{31, "completionTime", "field is immutable"},
	{32, "startTime", "field is immutable for unsuspended job once set"},
}

// numberOf returns the number of the rule that an error is about, 0 if it is unknown.
func numberOf(err error) int {
	var fault *field.Error
	if !errors.As(err, &fault) {
		return 0
	}
	path := strings.TrimPrefix(fault.Field, "status.")
	for _, r := range rules {
		if (r.field == "" || path == r.field || strings.HasPrefix(path, r.field+".")) && strings.Contains(fault.ErrorBody(), r.text) {
			return r.number
		}
	}
	return 0
}
