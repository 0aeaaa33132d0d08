package preflight

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestSentence checks that a sentence has one subject.
func TestSentence(t *testing.T) {
	for want, p := range map[string]Problem{
		"Namespace ml does not exist":           {Object: named("Namespace", "", "ml"), Message: "does not exist"},
		"the Pods cannot be checked: EOF":       {Object: thePods(), Message: "cannot be checked: EOF"},
		"the API server rejects the Pods: why?": {Object: thePods(), Message: "the API server rejects the Pods: why?", IsSentence: true},
		"already exists":                        {Message: "already exists"},
	} {
		assert.Equal(t, p.Sentence(), want)
	}
}
